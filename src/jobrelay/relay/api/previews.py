"""Previews: what the relay would decide about a workload that is not created.

A Preview is created as reviews of Kubernetes are: nothing is stored, and the answer is its status.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from jobrelay.apimachinery.gojson import UNREADABLE
from jobrelay.kube import Object, ProtocolError
from jobrelay.kube.objects import decode_object
from jobrelay.relay.api.failures import bad_request
from jobrelay.relay.api.names import API_VERSION
from jobrelay.relay.explain import Explanation
from jobrelay.relay.workload_kind import WorkloadKind

MALFORMED: Final = (AttributeError, LookupError, TypeError, ValueError, ProtocolError)
"""What adapters raise for an object of any shape: they expect what an API server has let through."""


class _Metadata(msgspec.Struct):
    namespace: str = ""


class _Head(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    metadata: _Metadata


class _Spec(msgspec.Struct):
    workload: msgspec.Raw


class _Preview(msgspec.Struct):
    spec: _Spec


class PreviewedWorkload(msgspec.Struct, frozen=True):
    """The workload that a Preview is about."""

    api_version: str
    kind: str
    namespace: str
    obj: Object

    def answered(self, preview: Callable[[str, Object], Explanation], kind: str) -> dict[str, Any]:
        """The Preview with its answer; raises ApiFailure if it cannot be decided about."""
        try:
            status = msgspec.to_builtins(preview(kind, self.obj))
        except MALFORMED as error:
            raise bad_request(f"not a {self.kind} that an API server would accept: {error}") from None
        metadata = {"namespace": self.namespace, "name": self.obj.name}
        return {"apiVersion": API_VERSION, "kind": "Preview", "metadata": metadata, "status": status}


def read_preview(body: bytes, namespace: str) -> PreviewedWorkload:
    """The workload in the body of a request; raises ApiFailure."""
    try:
        raw = bytes(msgspec.json.decode(body, type=_Preview).spec.workload)
        head = msgspec.json.decode(raw, type=_Head)
        obj = decode_object(raw)
    except (ProtocolError, *UNREADABLE) as error:
        raise bad_request(f"not a Preview with a workload in its spec: {error}") from None
    if head.metadata.namespace != namespace:
        raise bad_request(f"the workload is in namespace {head.metadata.namespace!r}, and the request in {namespace!r}")
    return PreviewedWorkload(head.api_version, head.kind, namespace, obj)


def kind_of(kinds: Mapping[str, WorkloadKind], api_version: str, kind: str) -> WorkloadKind:
    """The kind of a workload; raises ApiFailure for one that the relay does not run."""
    for each in kinds.values():
        if (each.adapter.resource.api_version, each.adapter.resource.kind) == (api_version, kind):
            return each
    raise bad_request(f"the relay does not run {kind}s of {api_version}")
