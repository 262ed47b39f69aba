"""What is worth holding of an object, for caches of tens of thousands of them.

`managedFields` are often half of an object and nobody here reads them. Of pods and nodes only what the room on a worker is
counted from is kept, under the names it has in the API.
"""

from __future__ import annotations

from typing import Any

import msgspec

from jobrelay.kinds.batch.job.names import CONTROLLER_UID
from jobrelay.kube import Metadata, Object, ProtocolError

__all__ = ["node_for_capacity", "pod_for_capacity", "sound", "trimmed"]

_Parts = dict[str, msgspec.Raw]
_parts = msgspec.json.Decoder(_Parts)
_encoder = msgspec.json.Encoder()


def trimmed(obj: Object) -> Object:
    """The same object, lighter."""
    if b'"managedFields"' not in obj.raw:
        return obj
    parts = obj.decode(_Parts)
    metadata = _parts.decode(parts["metadata"])
    metadata.pop("managedFields", None)
    parts["metadata"] = msgspec.Raw(_encoder.encode(metadata))
    return Object(obj.metadata, _encoder.encode(parts))


def sound(obj: Object, kind: str) -> Object:
    """An object of a worker as it is to be held, if it has what every object of that kind has."""
    found = obj.decode(_Kind).kind
    if found != kind or not (obj.name and obj.uid and obj.resource_version):
        raise ProtocolError(f"{found or 'something'} {obj.key} where a {kind} with a name, a uid and a version was due")
    return trimmed(obj)


class _Kind(msgspec.Struct):
    kind: str = ""


class _Container(msgspec.Struct, rename="camel", omit_defaults=True):
    name: str = ""
    resources: msgspec.Raw = msgspec.Raw(b"{}")
    restart_policy: str | None = None


class _PodSpec(msgspec.Struct, rename="camel", omit_defaults=True):
    node_name: str = ""
    scheduling_gates: list[dict[str, Any]] | None = None
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    overhead: dict[str, Any] | None = None
    resources: dict[str, Any] | None = None


class _Condition(msgspec.Struct, omit_defaults=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class _PodStatus(msgspec.Struct, omit_defaults=True):
    phase: str = ""
    conditions: list[_Condition] | None = None


class _Pod(msgspec.Struct):
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)
    status: _PodStatus = msgspec.field(default_factory=_PodStatus)


class _NodeSpec(msgspec.Struct, omit_defaults=True):
    unschedulable: bool = False
    taints: list[dict[str, Any]] | None = None


class _NodeStatus(msgspec.Struct, omit_defaults=True):
    allocatable: dict[str, Any] | None = None
    capacity: dict[str, Any] | None = None
    conditions: list[_Condition] | None = None


class _Node(msgspec.Struct):
    spec: _NodeSpec = msgspec.field(default_factory=_NodeSpec)
    status: _NodeStatus = msgspec.field(default_factory=_NodeStatus)


def pod_for_capacity(obj: Object) -> Object:
    """A pod's requests, its node, its phase, why it has no node, and whose it is."""
    pod = obj.decode(_Pod)
    told = [one for one in pod.status.conditions or () if one.type == "PodScheduled" and one.status != "True"]
    pod.status.conditions = told or None
    labels = {CONTROLLER_UID: uid} if (uid := obj.metadata.labels.get(CONTROLLER_UID)) else {}
    return Object(_light(obj.metadata, labels), _encoder.encode(pod))


def node_for_capacity(obj: Object) -> Object:
    """A node's room, its taints, and whether it is ready."""
    node = obj.decode(_Node)
    node.status.conditions = [one for one in node.status.conditions or () if one.type == "Ready"] or None
    return Object(_light(obj.metadata, obj.metadata.labels), _encoder.encode(node))


def _light(metadata: Metadata, labels: dict[str, str]) -> Metadata:
    return msgspec.structs.replace(metadata, labels=labels, annotations={}, owner_references=(), finalizers=())
