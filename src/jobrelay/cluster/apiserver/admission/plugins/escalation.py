"""What users may grant: only rights that they hold."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.access import Attributes
from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.access import MASTERS, attributes_of, authorize
from jobrelay.cluster.apiserver.admission.plugins.objects import one_of
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest
from jobrelay.kinds.strategy import Obj

RBAC: Final = "rbac.authorization.k8s.io"
_EVERYTHING: Final = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
)
_AGGREGATION_REFUSED: Final = "must have cluster-admin privileges to use the aggregationRule"
_NOT_GRANTING: Final = ("ownerReferences", "finalizers", "managedFields")


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
    role = one_of(admission, f"{plural}.{RBAC}", namespace, reference.get("name", ""))
    if role is None:
        raise errors.not_found(RBAC, admission.served.plural, reference.get("name", ""))
    return list(role.get("rules") or [])


def _allowed(admission: AdmissionRequest, verb: str, plural: str, name: str) -> bool:
    wanted = Attributes(verb, RBAC, plural, namespace=admission.namespace, name=name)
    return admission.server.authorizer.allowed(admission.request.user, wanted)[0]
