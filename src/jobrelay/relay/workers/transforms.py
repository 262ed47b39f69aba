"""What caches keep of an object, since they hold tens of thousands of them.

`managedFields` are often half of an object and are not used here. Of pods and nodes only the fields that capacity is
computed from are kept, under their names in the API.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from jobrelay.apimachinery.gojson import UNREADABLE
from jobrelay.kube import Metadata, Object, ProtocolError
from jobrelay.relay.mirror_pods.listing import INDEX, index_of
from jobrelay.relay.placement.capacity import POD_OWNER

_Parts = dict[str, msgspec.Raw]
_parts = msgspec.json.Decoder(_Parts)
_kind = msgspec.json.Decoder(str)
_encoder = msgspec.json.Encoder()
_LONGEST_MESSAGE: Final = 300


def name_only(obj: Object) -> Object:
    """Nothing but what identifies an object."""
    metadata = replace(obj.metadata, labels={}, annotations={}, owner_references=(), finalizers=())
    return Object(metadata, b"{}")


def strip_managed_fields(obj: Object) -> Object:
    """The object without `metadata.managedFields`."""
    return _stripped(obj, obj.decode(_Parts)) if b'"managedFields"' in obj.raw else obj


def _stripped(obj: Object, parts: _Parts) -> Object:
    try:
        metadata = _parts.decode(parts["metadata"])
    except UNREADABLE as error:
        raise ProtocolError(f"{obj.key} has no metadata that can be read: {error}") from error
    if metadata.pop("managedFields", None) is None:
        return obj
    parts["metadata"] = msgspec.Raw(_encoder.encode(metadata))
    return Object(obj.metadata, _encoder.encode(parts))


def checked_mirror(obj: Object, kind: str) -> Object:
    """A mirror for the cache; raises ProtocolError if the worker sent something else than an object of this kind."""
    parts = obj.decode(_Parts)
    found = _kind.decode(parts["kind"]) if "kind" in parts else ""
    if found != kind or not (obj.name and obj.uid and obj.resource_version):
        raise ProtocolError(f"{found or 'something'} {obj.key} where a {kind} with a name, a uid and a version was due")
    return _stripped(obj, parts)


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


class _Waiting(msgspec.Struct, omit_defaults=True):
    reason: str = ""
    message: str = ""


class _Terminated(msgspec.Struct, rename="camel", omit_defaults=True):
    exit_code: int = 0
    reason: str = ""
    message: str = ""


class _ContainerState(msgspec.Struct, omit_defaults=True):
    waiting: _Waiting | None = None
    terminated: _Terminated | None = None


class _ContainerStatus(msgspec.Struct, rename="camel", omit_defaults=True):
    name: str = ""
    restart_count: int = 0
    state: _ContainerState | None = None
    last_state: _ContainerState | None = None


class _PodStatus(msgspec.Struct, rename="camel", omit_defaults=True):
    phase: str = ""
    conditions: list[_Condition] | None = None
    container_statuses: list[_ContainerStatus] | None = None
    init_container_statuses: list[_ContainerStatus] | None = None


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


def pod_for_capacity(obj: Object, pod_owner: Callable[[Object], str]) -> Object:
    """A pod's requests, node, phase, why it is not scheduled or its containers do not run, and its owner."""
    pod = obj.decode(_Pod)
    unscheduled = [one for one in pod.status.conditions or () if one.type == "PodScheduled" and one.status != "True"]
    pod.status.conditions = unscheduled or None
    owner = pod_owner(obj)
    pod.status.container_statuses = _troubled(pod.status.container_statuses) if owner else None
    pod.status.init_container_statuses = _troubled(pod.status.init_container_statuses) if owner else None
    labels = {POD_OWNER: owner} if owner else {}
    if owner and (index := index_of(obj)):
        labels[INDEX] = index
    return Object(_reduced(obj.metadata, labels), _encoder.encode(pod))


def _troubled(statuses: list[_ContainerStatus] | None) -> list[_ContainerStatus] | None:
    """The containers that do not run, or did not before; of most pods there are none."""
    found = [each for each in statuses or () if any(map(_is_trouble, (each.state, each.last_state)))]
    for state in (state for each in found for state in (each.state, each.last_state) if state is not None):
        for told in (state.waiting, state.terminated):
            if told is not None:
                told.message = told.message[-_LONGEST_MESSAGE:]
    return found or None


def _is_trouble(state: _ContainerState | None) -> bool:
    if state is None:
        return False
    return bool(state.waiting and state.waiting.reason) or bool(state.terminated and state.terminated.exit_code)


def node_for_capacity(obj: Object) -> Object:
    """A node's resources, taints, and whether it is ready."""
    node = obj.decode(_Node)
    node.status.conditions = [one for one in node.status.conditions or () if one.type == "Ready"] or None
    return Object(_reduced(obj.metadata, obj.metadata.labels), _encoder.encode(node))


def _reduced(metadata: Metadata, labels: dict[str, str]) -> Metadata:
    return msgspec.structs.replace(metadata, labels=labels, annotations={}, owner_references=(), finalizers=())
