"""Answers AdmissionReviews: finds the checks or defaults for a request, and returns their result."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from jobrelay.apimachinery.field import FieldError, aggregate
from jobrelay.kube import Object, Resource
from jobrelay.kube.objects import decode_object
from jobrelay.queueing.resources import CLUSTER_QUEUES, COHORTS, RESOURCE_FLAVORS, WORKLOADS
from jobrelay.queueing.webhooks.defaults import Patch, QueueLookup, default_patch
from jobrelay.queueing.webhooks.flavors import check_resource_flavor
from jobrelay.queueing.webhooks.jobs import WrittenObject, check_object
from jobrelay.queueing.webhooks.quotas import check_cluster_queue, check_cohort
from jobrelay.queueing.webhooks.workloads import check_workload
from jobrelay.workloads import Adapter

Check = Callable[[Mapping[str, Any], Mapping[str, Any] | None], list[FieldError]]

CHECKS: Final[Mapping[Resource, Check]] = {
    CLUSTER_QUEUES: check_cluster_queue,
    COHORTS: check_cohort,
    RESOURCE_FLAVORS: check_resource_flavor,
    WORKLOADS: check_workload,
}
"""The checks of Kueue's own kinds."""
_KINDS: Final = {(each.group, each.plural): check for each, check in CHECKS.items()}


class _GroupResource(msgspec.Struct, frozen=True):
    group: str = ""
    resource: str = ""


class _Request(msgspec.Struct, frozen=True, rename="camel"):
    uid: str
    resource: _GroupResource
    operation: str = ""
    namespace: str = ""
    object: msgspec.Raw = msgspec.Raw(b"null")
    old_object: msgspec.Raw = msgspec.Raw(b"null")


class _Review(msgspec.Struct, frozen=True):
    request: _Request


class AdmissionReviews:
    """Answers what API servers ask about writes; `adapters` are the kinds that can be queued."""

    def __init__(self, adapters: Mapping[Resource, Adapter], queues: QueueLookup) -> None:
        self._adapters = {(each.group, each.plural): adapter for each, adapter in adapters.items()}
        self._queues = queues

    def validate(self, body: bytes) -> bytes:
        """The answer of the validating webhooks; raises msgspec.DecodeError for what is no review."""
        request = msgspec.json.decode(body, type=_Review).request
        errors = self._errors(request)
        return _answer(request.uid, message=aggregate(errors) if errors else "")

    def mutate(self, body: bytes) -> bytes:
        """The answer of the mutating webhooks; raises msgspec.DecodeError for what is no review."""
        request = msgspec.json.decode(body, type=_Review).request
        adapter = self._adapters.get((request.resource.group, request.resource.resource))
        patch: Patch = []
        if adapter is not None and request.operation == "CREATE":
            patch = default_patch(adapter, _named(request, adapter.resource), self._queues)
        return _answer(request.uid, patch=patch)

    def _errors(self, request: _Request) -> list[FieldError]:
        asked = (request.resource.group, request.resource.resource)
        new = msgspec.json.decode(request.object)
        if not isinstance(new, dict):
            return []
        if (check := _KINDS.get(asked)) is not None:
            return check(new, msgspec.json.decode(request.old_object))
        adapter = self._adapters.get(asked)
        if adapter is None:
            return []
        old = msgspec.json.decode(request.old_object)
        before = WrittenObject(adapter, decode_object(request.old_object, adapter.resource)) if old else None
        return check_object(WrittenObject(adapter, _named(request, adapter.resource)), before)


def _named(request: _Request, resource: Resource) -> Object:
    """The new object; one whose name is generated has none yet, and its namespace may be that of the request."""
    fields = msgspec.json.decode(request.object)
    metadata = {"name": "", "uid": "", "namespace": request.namespace, **(fields.get("metadata") or {})}
    return decode_object(msgspec.json.encode({**fields, "metadata": metadata}), resource)


def _answer(uid: str, *, message: str = "", patch: Patch | None = None) -> bytes:
    response: dict[str, Any] = {"uid": uid, "allowed": not message}
    if message:
        response["status"] = {
            "status": "Failure", "message": message, "reason": "Forbidden", "code": 403,
        }  # fmt: skip
    if patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = b64encode(msgspec.json.encode(patch)).decode()
    return msgspec.json.encode({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
