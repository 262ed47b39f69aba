"""Which webhooks are asked about a write: by rules, the namespace's labels, the object's labels, and conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobrelay.cluster.apiserver import errors, represent
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest
from jobrelay.cluster.apiserver.admission.webhooks.subject import Subject
from jobrelay.cluster.apiserver.registrations.webhooks import Invocation, Webhook


def relevant(admission: AdmissionRequest, key: str) -> tuple[Invocation, ...]:
    """The webhooks of a type whose rules are about a write."""
    server = admission.server
    return server.webhooks.relevant(key, server.resources, admission.operation, admission.served, admission.subresource)


def is_asked(invocation: Invocation, subject: Subject) -> bool:
    """Whether a webhook whose rules match is to be asked; raises the refusal if that cannot be found out."""
    webhook = invocation.webhook
    return (
        (webhook.namespaces.empty or _namespace_matches(webhook, subject))
        and (webhook.objects.empty or _object_matches(webhook, subject))
        and (not webhook.conditions or _conditions_hold(invocation, subject))
    )


def _namespace_matches(webhook: Webhook, subject: Subject) -> bool:
    admission = subject.admission
    if admission.served.key == "namespaces" and not admission.subresource and admission.new:
        return webhook.namespaces.matches(admission.new["metadata"].get("labels"))
    if not subject.namespace:
        return True
    item = admission.server.store.get("namespaces", "", subject.namespace)
    if item is None:
        raise errors.not_found("", "namespaces", subject.namespace)
    return webhook.namespaces.matches(represent.cached(item.raw)["metadata"].get("labels"))


def _object_matches(webhook: Webhook, subject: Subject) -> bool:
    return any(webhook.objects.matches(_labels(obj)) for obj in (subject.new, subject.old) if obj and "metadata" in obj)


def _labels(obj: Mapping[str, Any]) -> Mapping[str, str] | None:
    labels: Mapping[str, str] | None = obj["metadata"].get("labels")
    return labels


def _conditions_hold(invocation: Invocation, subject: Subject) -> bool:
    from jobrelay.cluster.apiserver.admission.webhooks.conditions import holds  # few webhooks need expressions

    return holds(invocation, subject)
