"""The webhook configurations that are registered: which writes the API server asks the relay about.

A webhook that does not answer must not stand in the way of users (`failurePolicy: Ignore`): what it would have said is
found out by the controllers too, if later. Match conditions keep the API server from asking about writes that no check
is about; most writes to Workloads are the relay's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from jobrelay.kube import Resource
from jobrelay.kube.resource import MUTATINGWEBHOOKCONFIGURATIONS
from jobrelay.queueing import names
from jobrelay.queueing.resources import GROUP, WORKLOADS
from jobrelay.queueing.webhooks.reviews import CHECKS
from jobrelay.relay.api.names import SERVICE
from jobrelay.relay.api.registration import Registered

__all__ = ["MUTATE", "NAME", "VALIDATE", "make_configuration", "target"]

NAME: Final = "jobrelay-queueing"
"""The name of both configurations."""
MUTATE: Final = "/queueing/mutate"
VALIDATE: Final = "/queueing/validate"
_SECONDS: Final = 10


def _has(where: str, part: str) -> str:
    """CEL: whether an object has labels or annotations of Kueue's."""
    return f"has({where}.metadata.{part}) && {where}.metadata.{part}.exists(k, k.startsWith('{GROUP}/'))"


_OF_QUEUES: Final = " || ".join(
    [
        _has("object", "labels"),
        _has("object", "annotations"),
        f"oldObject != null && {_has('oldObject', 'labels')}",
        f"oldObject != null && {_has('oldObject', 'annotations')}",
    ]
)
_RESERVED: Final = f"c.type == '{names.QUOTA_RESERVED}' && c.status == 'True'"
_OF_WORKLOADS: Final = " || ".join(
    [
        "oldObject == null || object.spec != oldObject.spec",
        f"has(object.metadata.annotations) && '{names.ADMISSION_GATED_BY}' in object.metadata.annotations",
        "has(object.status) && (has(object.status.reclaimablePods) || has(object.status.clusterName)"
        " || has(object.status.admissionChecks))",
        "has(oldObject.status) && has(oldObject.status.reclaimablePods)",
        "has(object.status) && has(oldObject.status) && has(object.status.admission) && has(oldObject.status.admission)"
        " && object.status.admission != oldObject.status.admission",
        "has(object.status) && !has(object.status.admission) && has(object.status.conditions)"
        f" && object.status.conditions.exists(c, {_RESERVED})",
    ]
)


def make_configuration(kind: Resource, registered: Registered | None, queued: Iterable[Resource]) -> dict[str, Any]:
    """The configuration of one of the two kinds; without `registered`, one without webhooks.

    `queued` are the kinds whose objects can be queued.
    """
    hooks: list[dict[str, Any]] = []
    if registered is not None:
        make = _mutating if kind == MUTATINGWEBHOOKCONFIGURATIONS else _validating
        hooks = list(make(registered, sorted(queued, key=lambda each: (each.kind.lower(), each.group))))
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": NAME}, "webhooks": hooks}


def _mutating(registered: Registered, queued: list[Resource]) -> Iterator[dict[str, Any]]:
    for kind in queued:
        yield _hook("m", kind, target(registered, MUTATE), ["CREATE"])


def _validating(registered: Registered, queued: list[Resource]) -> Iterator[dict[str, Any]]:
    where = target(registered, VALIDATE)
    for kind in CHECKS:
        condition = _OF_WORKLOADS if kind == WORKLOADS else ""
        yield _hook("v", kind, where, ["CREATE", "UPDATE"], condition, status=kind == WORKLOADS)
    for kind in queued:
        yield _hook("v", kind, where, ["CREATE", "UPDATE"], _OF_QUEUES)


def _hook(
    prefix: str,
    kind: Resource,
    where: dict[str, Any],
    operations: list[str],
    condition: str = "",
    *,
    status: bool = False,
) -> dict[str, Any]:
    resources = [kind.plural, *([f"{kind.plural}/status"] if status else [])]
    rule = {"apiGroups": [kind.group], "apiVersions": [kind.version], "operations": operations, "resources": resources}
    return {
        "name": f"{prefix}{kind.kind.lower()}.kb.io",
        "clientConfig": where,
        "rules": [rule],
        "failurePolicy": "Ignore",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": _SECONDS,
        "matchConditions": [{"name": "is-about-queues", "expression": condition}] if condition else [],
    }


def target(registered: Registered, path: str) -> dict[str, Any]:
    """Where an API server reaches one of the relay's webhooks."""
    if registered.host:
        return {"url": f"https://{registered.host}:{registered.port}{path}", "caBundle": registered.bundle}
    service = {"namespace": registered.namespace, "name": SERVICE, "path": path}
    return {"service": service, "caBundle": registered.bundle}
