"""Admission plugins that read other objects: service accounts, priorities, limits, storage classes, roles.

What the rules are is in `kinds/`, as pure functions; here the objects that they look at are fetched from the store, and
a refusal becomes the answer. Each function is a step of the admission chain and returns at once for kinds it is not
about.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jobrelay.cluster.apiserver import errors, represent
from jobrelay.cluster.apiserver.access import MASTERS, Attributes, attributes_of, authorize
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest
from jobrelay.kinds.strategy import Obj

RBAC = "rbac.authorization.k8s.io"
Fields = Mapping[str, Any]
_EVERYTHING: Final = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
)
_AGGREGATION_REFUSED: Final = "must have cluster-admin privileges to use the aggregationRule"
_NOT_GRANTING: Final = ("ownerReferences", "finalizers", "managedFields")


def _all(admission: AdmissionRequest, key: str, namespace: str = "") -> list[Fields]:
    return [represent.cached(item.raw) for item in admission.server.store.snapshot(key).walk(namespace)]


def _one(admission: AdmissionRequest, key: str, namespace: str, name: str) -> Fields | None:
    item = admission.server.store.get(key, namespace, name)
    return represent.cached(item.raw) if item is not None else None


# Changes.


def fill_in_pod(admission: AdmissionRequest) -> None:
    """Sets limits, service account, priority and tolerations of a new pod; keeps what an update left out."""
    if not admission.is_about("pods"):
        return
    from jobrelay.kinds.core import limitranger
    from jobrelay.kinds.core.pod.admission import admit_pod, admit_pod_update, service_account_of

    if admission.old:
        admit_pod_update(admission.new, admission.old)
        return
    namespace = admission.namespace
    limitranger.fill_in(admission.new, _all(admission, "limitranges", namespace))
    account = service_account_of(admission.new)
    runtime = admission.new["spec"].get("runtimeClassName")
    refused = admit_pod(
        admission.new,
        service_account=_one(admission, "serviceaccounts", namespace, account) if account else None,
        priority_classes=_all(admission, "priorityclasses.scheduling.k8s.io"),
        random_suffix=admission.server.suffix(),
        runtime_class=_one(admission, "runtimeclasses.node.k8s.io", "", runtime) if runtime else None,
    )
    if refused is not None:
        raise errors.ApiError(refused[0], "Forbidden", refused[1], details=_pod_details(admission))


def _pod_details(admission: AdmissionRequest) -> dict[str, Any]:
    name = admission.metadata.get("name") or admission.metadata.get("generateName", "")
    return {"name": name, "kind": "pods"} if name else {"kind": "pods"}


def fill_in_claim(admission: AdmissionRequest) -> None:
    if admission.is_about("persistentvolumeclaims") and not admission.old:
        from jobrelay.kinds.core.admission import fill_in_class

        fill_in_class(admission.new, _all(admission, "storageclasses.storage.k8s.io"))


def allocate_for_service(admission: AdmissionRequest) -> None:
    """Allocates cluster IPs and node ports; an address that is not available is the only error reported."""
    if not admission.is_about("services"):
        return
    from jobrelay.kinds.core.serviceaddresses import ServiceAllocator, begin_create, begin_update

    pool = ServiceAllocator(_all(admission, "services"))
    if not admission.old:
        found = begin_create(admission.new, pool)
    else:
        found = begin_update(admission.new, admission.old, pool)
    if found:
        raise admission.invalid(found)


# Refusals.


def may_create(admission: AdmissionRequest) -> None:
    """An update or an apply was authorized as such; if it creates the object, its user needs `create` too."""
    authorize(admission.server.authorizer, admission.request.user, attributes_of(admission.request.info, "create"))


def may_grant(admission: AdmissionRequest) -> None:
    """Prevents privilege escalation: users grant only rights that they hold, unless they may `escalate` or `bind`."""
    if admission.served.group != RBAC or admission.subresource or MASTERS in admission.request.user.groups:
        return
    of_role = admission.served.kind.endswith("Role")
    if of_role and _allowed(admission, "escalate", admission.served.plural, admission.request.info.name):
        return
    if admission.old and _granting(admission.new) == _granting(admission.old):
        return
    wanted = list(admission.new.get("rules") or []) if of_role else _bound_rules(admission)
    if wanted is None:
        return
    from jobrelay.kinds.rbac.rules import escalation_error, rules_cover

    user = admission.request.user
    held = admission.server.authorizer.held(user, admission.namespace)
    refusal = escalation_error(user.name, user.groups, held, wanted)
    if not refusal and (admission.new.get("aggregationRule") or admission.old.get("aggregationRule")):
        refusal = "" if rules_cover(held, _EVERYTHING)[0] else _AGGREGATION_REFUSED
    if refusal:
        raise errors.forbidden(RBAC, admission.served.plural, admission.metadata.get("name", ""), refusal)


def _granting(obj: Obj) -> Any:
    """An object without what the garbage collector may change of it; everything else, labels too, can grant rights."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _NOT_GRANTING}
    return _without_empty({**obj, "metadata": metadata})


def _without_empty(value: Any) -> Any:
    """A value without empty lists, maps and texts: they equal missing ones."""
    if isinstance(value, dict):
        found = {key: _without_empty(part) for key, part in value.items()}
        return {key: part for key, part in found.items() if part or isinstance(part, (int, float))}
    return [_without_empty(part) for part in value] if isinstance(value, list) else value


def _bound_rules(admission: AdmissionRequest) -> list[dict[str, Any]] | None:
    reference = admission.new["roleRef"]
    plural = {"ClusterRole": "clusterroles", "Role": "roles"}.get(reference.get("kind", ""), "")
    if plural and _allowed(admission, "bind", plural, reference.get("name", "")):
        return None
    namespace = admission.namespace if plural == "roles" else ""
    role = _one(admission, f"{plural}.{RBAC}", namespace, reference.get("name", ""))
    if role is None:
        raise errors.not_found(RBAC, admission.served.plural, reference.get("name", ""))
    return list(role.get("rules") or [])


def _allowed(admission: AdmissionRequest, verb: str, plural: str, name: str) -> bool:
    wanted = Attributes(verb, RBAC, plural, namespace=admission.namespace, name=name)
    return admission.server.authorizer.allowed(admission.request.user, wanted)[0]


def check_limits(admission: AdmissionRequest) -> None:
    """Enforces the limits of LimitRanges."""
    if admission.old or not (admission.is_about("pods") or admission.is_about("persistentvolumeclaims")):
        return
    from jobrelay.kinds.core import limitranger

    ranges = _all(admission, "limitranges", admission.namespace)
    check = limitranger.pod_refusal if admission.served.key == "pods" else limitranger.claim_refusal
    if why := check(admission.new, ranges):
        raise admission.forbidden(why)


def check_claim_growth(admission: AdmissionRequest) -> None:
    if admission.is_about("persistentvolumeclaims") and admission.old:
        from jobrelay.kinds.core.admission import growth_refusal

        if why := growth_refusal(admission.new, admission.old, _all(admission, "storageclasses.storage.k8s.io")):
            raise admission.forbidden(why)


def check_default_priority(admission: AdmissionRequest) -> None:
    if admission.is_about("priorityclasses.scheduling.k8s.io"):
        from jobrelay.kinds.core.admission import second_default_refusal

        if why := second_default_refusal(admission.new, _all(admission, admission.served.key)):
            raise admission.forbidden(why)


def pod_security(admission: AdmissionRequest) -> None:
    """Enforces the Pod Security Standards that the namespace's labels set."""
    if admission.subresource not in ("", "ephemeralcontainers"):
        return
    namespace = _one(admission, "namespaces", "", admission.namespace)
    labels = (namespace or {"metadata": {}})["metadata"].get("labels")
    if not any(key.startswith("pod-security.kubernetes.io/") for key in labels or ()):
        return
    from jobrelay.kinds.core.pod.podsecurity import admit_pod_security, is_significant_update, template_of

    if admission.served.key == "pods":
        if admission.old and not is_significant_update(admission.new, admission.old):
            return
        subject: Obj | None = admission.new
    else:
        subject = template_of(admission.served.group, admission.served.plural, admission.new)
    if subject is None or not subject.get("spec"):
        return
    why, warnings = admit_pod_security(
        labels, subject.get("metadata") or {}, subject["spec"], enforce=admission.served.key == "pods"
    )
    if why:
        raise admission.forbidden(why)
    admission.request.warn(*warnings)


def namespace_pod_security(admission: AdmissionRequest) -> None:
    """Validates a namespace's Pod Security labels; warns of existing pods that violate a stricter level."""
    if not admission.is_about("namespaces"):
        return
    from jobrelay.kinds.core.pod.podsecurity import namespace_warnings, validate_namespace_labels

    labels = admission.metadata.get("labels")
    old = admission.old["metadata"].get("labels") if admission.old else None
    if found := validate_namespace_labels(labels, old):
        raise admission.invalid(found)
    if not admission.old or labels == old:
        return
    name = admission.metadata["name"]
    pods = [represent.stored(item.raw) for item in admission.server.store.snapshot("pods").walk(name)]
    admission.request.warn(*namespace_warnings(name, labels, old, pods))
