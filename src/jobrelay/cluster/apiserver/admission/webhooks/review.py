"""The AdmissionReview that is sent to a webhook."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from jobrelay.cluster.apiserver import represent
from jobrelay.cluster.apiserver.admission.webhooks.subject import Subject, kind_of
from jobrelay.cluster.apiserver.context import new_uid
from jobrelay.cluster.apiserver.registrations.webhooks import Invocation
from jobrelay.cluster.apiserver.resources import ServedResource

KNOWN: Final = ("v1", "v1beta1")


class Review(NamedTuple):
    """A review to be sent: its uid, which the answer has to repeat, and its version."""

    uid: str
    version: str
    body: bytes


def known_version(invocation: Invocation) -> str:
    """The version of AdmissionReview that a webhook prefers; "" when it knows none that can be sent."""
    return next((version for version in invocation.webhook.versions if version in KNOWN), "")


def make(subject: Subject, invocation: Invocation, version: str) -> Review:
    uid = new_uid()
    review = {
        "kind": "AdmissionReview",
        "apiVersion": f"admission.k8s.io/{version}",
        "request": {"uid": uid, **request_fields(subject, invocation.served), **_objects(subject, invocation.served)},
    }
    return Review(uid, version, represent.encode(review))


def request_fields(subject: Subject, wanted: ServedResource) -> dict[str, Any]:
    """The request without its uid and objects; `wanted` is the version that the webhook sees."""
    admission = subject.admission
    below = admission.subresource
    found: dict[str, Any] = {"kind": _kind(wanted, below), "resource": _resource(wanted)}
    if below:
        found["subResource"] = below
    found |= {"requestKind": _kind(admission.served, below), "requestResource": _resource(admission.served)}
    if below:
        found["requestSubResource"] = below
    if subject.name:
        found["name"] = subject.name
    if subject.namespace:
        found["namespace"] = subject.namespace
    return found | {
        "operation": admission.operation,
        "userInfo": admission.request.user.info(),
        "dryRun": admission.dry_run,
        "options": subject.options,
    }


def _objects(subject: Subject, wanted: ServedResource) -> dict[str, Any]:
    return {
        "object": subject.in_version(subject.new, wanted),
        "oldObject": subject.in_version(subject.old, wanted),
    }


def _kind(served: ServedResource, subresource: str) -> dict[str, str]:
    return kind_of(served, subresource)._asdict()


def _resource(served: ServedResource) -> dict[str, str]:
    return {"group": served.group, "version": served.version, "resource": served.plural}
