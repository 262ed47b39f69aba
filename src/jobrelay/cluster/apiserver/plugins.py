"""Admission that looks at other objects: service accounts, priorities, limits, storage classes, rights to grant rights.

What the rules are is in `kinds/`, as pure functions; here the objects that they look at are fetched from the store, and a
refusal becomes the answer. Each function is a step of the admission chain and returns at once for kinds it is not about.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobrelay.cluster.apiserver import errors, represent
from jobrelay.cluster.apiserver.access import MASTERS, Attributes
from jobrelay.cluster.apiserver.attempt import Attempt
from jobrelay.kinds.strategy import Obj

RBAC = "rbac.authorization.k8s.io"
Fields = Mapping[str, Any]


def _all(attempt: Attempt, key: str, namespace: str = "") -> list[Fields]:
    return [represent.seen(item.raw) for item in attempt.services.store.snapshot(key).walk(namespace)]


def _one(attempt: Attempt, key: str, namespace: str, name: str) -> Fields | None:
    item = attempt.services.store.get(key, namespace, name)
    return represent.seen(item.raw) if item is not None else None


def _forbidden(attempt: Attempt, why: str) -> errors.ApiError:
    name = attempt.metadata.get("name") or attempt.metadata.get("generateName", "")
    return errors.forbidden(attempt.served.group, attempt.served.plural, name, why)


def _is(attempt: Attempt, key: str, subresource: str = "") -> bool:
    return attempt.served.key == key and attempt.subresource == subresource


# Changes.


def fill_in_pod(attempt: Attempt) -> None:
    """Limits, service account, priority, tolerations of a new pod; what an update left out."""
    if not _is(attempt, "pods"):
        return
    from jobrelay.kinds.core import limitranger
    from jobrelay.kinds.core.pod import admit_pod, admit_pod_update, service_account_of

    if attempt.old is not None:
        admit_pod_update(attempt.new, attempt.old)
        return
    namespace = attempt.request.info.namespace
    limitranger.fill_in(attempt.new, _all(attempt, "limitranges", namespace))
    account = service_account_of(attempt.new)
    runtime = attempt.new["spec"].get("runtimeClassName")
    refused = admit_pod(
        attempt.new,
        service_account=_one(attempt, "serviceaccounts", namespace, account) if account else None,
        priority_classes=_all(attempt, "priorityclasses.scheduling.k8s.io"),
        random_suffix=attempt.services.suffix(),
        runtime_class=_one(attempt, "runtimeclasses.node.k8s.io", "", runtime) if runtime else None,
    )
    if refused is not None:
        raise errors.ApiError(refused[0], "Forbidden", refused[1], details=_pod_details(attempt))


def _pod_details(attempt: Attempt) -> dict[str, Any]:
    name = attempt.metadata.get("name") or attempt.metadata.get("generateName", "")
    return {"name": name, "kind": "pods"} if name else {"kind": "pods"}


def fill_in_claim(attempt: Attempt) -> None:
    if _is(attempt, "persistentvolumeclaims") and attempt.old is None:
        from jobrelay.kinds.core.admission import fill_in_class

        fill_in_class(attempt.new, _all(attempt, "storageclasses.storage.k8s.io"))


def allocate_for_service(attempt: Attempt) -> None:
    """Cluster IPs and node ports; an address that cannot be had is the only error a client sees."""
    if not _is(attempt, "services"):
        return
    from jobrelay.kinds.core.serviceaddresses import Pool, begin_create, begin_update

    pool = Pool(_all(attempt, "services"))
    if attempt.old is None:
        found = begin_create(attempt.new, pool)
    else:
        found = begin_update(attempt.new, attempt.old, pool)
    if found:
        raise attempt.invalid(found)


# Refusals.


def may_grant(attempt: Attempt) -> None:
    """Nobody hands out rights that they do not hold, unless they may `escalate` or `bind`."""
    if attempt.served.group != RBAC or attempt.subresource or MASTERS in attempt.request.user.groups:
        return
    if attempt.old is not None and _same_grants(attempt.new, attempt.old):
        return
    kind = attempt.served.kind
    wanted = _role_rules(attempt) if kind.endswith("Role") else _bound_rules(attempt)
    if wanted is None:
        return
    from jobrelay.kinds.rbac.rules import escalation_error

    authorizer, user = attempt.services.authorizer, attempt.request.user
    namespace = attempt.request.info.namespace
    refusal = escalation_error(user.name, user.groups, authorizer.held(user, namespace), wanted)
    if refusal:
        raise errors.forbidden(RBAC, attempt.served.plural, attempt.metadata.get("name", ""), refusal)


def _same_grants(new: Obj, old: Obj) -> bool:
    fields = ("rules", "aggregationRule", "roleRef", "subjects")
    return all((new.get(name) or None) == (old.get(name) or None) for name in fields)


def _role_rules(attempt: Attempt) -> list[dict[str, Any]] | None:
    if _allowed(attempt, "escalate", attempt.served.plural, attempt.metadata.get("name", "")):
        return None
    rules: list[dict[str, Any]] = list(attempt.new.get("rules") or [])
    if attempt.new.get("aggregationRule"):
        rules += [
            {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
            {"nonResourceURLs": ["*"], "verbs": ["*"]},
        ]
    return rules


def _bound_rules(attempt: Attempt) -> list[dict[str, Any]] | None:
    reference = attempt.new["roleRef"]
    plural = {"ClusterRole": "clusterroles", "Role": "roles"}.get(reference.get("kind", ""), "")
    if plural and _allowed(attempt, "bind", plural, reference.get("name", "")):
        return None
    namespace = attempt.request.info.namespace if plural == "roles" else ""
    role = _one(attempt, f"{plural}.{RBAC}", namespace, reference.get("name", ""))
    if role is None:
        raise errors.not_found(RBAC, attempt.served.plural, reference.get("name", ""))
    return list(role.get("rules") or [])


def _allowed(attempt: Attempt, verb: str, plural: str, name: str) -> bool:
    wanted = Attributes(verb, RBAC, plural, namespace=attempt.request.info.namespace, name=name)
    return attempt.services.authorizer.allowed(attempt.request.user, wanted)[0]


def check_limits(attempt: Attempt) -> None:
    """The bounds that limit ranges set."""
    if attempt.old is not None or not (_is(attempt, "pods") or _is(attempt, "persistentvolumeclaims")):
        return
    from jobrelay.kinds.core import limitranger

    ranges = _all(attempt, "limitranges", attempt.request.info.namespace)
    check = limitranger.pod_refusal if attempt.served.key == "pods" else limitranger.claim_refusal
    if why := check(attempt.new, ranges):
        raise _forbidden(attempt, why)


def check_claim_growth(attempt: Attempt) -> None:
    if _is(attempt, "persistentvolumeclaims") and attempt.old is not None:
        from jobrelay.kinds.core.admission import growth_refusal

        if why := growth_refusal(attempt.new, attempt.old, _all(attempt, "storageclasses.storage.k8s.io")):
            raise _forbidden(attempt, why)


def check_default_priority(attempt: Attempt) -> None:
    if _is(attempt, "priorityclasses.scheduling.k8s.io"):
        from jobrelay.kinds.core.admission import second_default_refusal

        if why := second_default_refusal(attempt.new, _all(attempt, attempt.served.key)):
            raise _forbidden(attempt, why)


def pod_security(attempt: Attempt) -> None:
    """The Pod Security Standards that a namespace's labels ask for."""
    if attempt.subresource not in ("", "ephemeralcontainers"):
        return
    from jobrelay.kinds.core.pod import admit_pod_security, is_significant_update, template_of

    if attempt.served.key == "pods":
        if attempt.old is not None and not is_significant_update(attempt.new, attempt.old):
            return
        subject: Obj | None = attempt.new
    else:
        subject = template_of(attempt.served.group, attempt.served.plural, attempt.new)
    if subject is None or not subject.get("spec"):
        return
    namespace = _one(attempt, "namespaces", "", attempt.request.info.namespace)
    labels = (namespace or {"metadata": {}})["metadata"].get("labels")
    if not any(key.startswith("pod-security.kubernetes.io/") for key in labels or ()):
        return
    why, warnings = admit_pod_security(
        labels, subject.get("metadata") or {}, subject["spec"], enforce=attempt.served.key == "pods"
    )
    if why:
        raise _forbidden(attempt, why)
    for text in warnings:
        attempt.request.warn(text)


def namespace_labels(attempt: Attempt) -> None:
    """Pod Security labels of a namespace must be understood."""
    if not _is(attempt, "namespaces"):
        return
    from jobrelay.kinds.core.pod import validate_namespace_labels

    found = (
        validate_namespace_labels(attempt.new, attempt.old) if attempt.old else validate_namespace_labels(attempt.new)
    )
    if found:
        raise attempt.invalid(found)
