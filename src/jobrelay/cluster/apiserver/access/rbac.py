"""Authorization by RBAC: the rules that a user holds, from the bindings and roles in the store.

Bindings and roles are decoded once and kept until one of them changes. `system:masters` may do everything, as on any
Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from jobrelay.apimachinery.access import Attributes
from jobrelay.cluster.apiserver.request import RequestInfo, UserInfo
from jobrelay.cluster.store import Store
from jobrelay.kinds.rbac.rules import binding_subject, rule_allows, rule_allows_url

GROUP: Final = "rbac.authorization.k8s.io"
MASTERS: Final = "system:masters"
_KINDS: Final = ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
Rule = dict[str, Any]


def attributes_of(info: RequestInfo, verb: str = "") -> Attributes:
    """What a request asks for; `verb` replaces that of its method."""
    if not info.about_resource:
        return Attributes(info.verb, path=info.path)
    name = info.name or info.selected
    return Attributes(verb or info.verb, info.group, info.resource, info.subresource, info.namespace, name)


class Authorizer:
    """Authorizes by the RBAC objects of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._cached: dict[str, list[dict[str, Any]]] = {}
        self._roles: dict[tuple[str, str, str], dict[str, Any]] = {}
        for kind in _KINDS:
            store.subscribe(f"{kind}.{GROUP}", lambda change: self._forget())

    def _forget(self) -> None:
        self._cached.clear()
        self._roles.clear()

    def _all(self, kind: str) -> list[dict[str, Any]]:
        found = self._cached.get(kind)
        if found is None:
            snapshot = self._store.snapshot(f"{kind}.{GROUP}", self._store.committed)
            found = self._cached[kind] = [msgspec.json.decode(item.raw) for item in snapshot.walk("")]
        return found

    def _role(self, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        if not self._roles:
            self._roles = {("roles", r["metadata"]["namespace"], r["metadata"]["name"]): r for r in self._all("roles")}
            self._roles |= {("clusterroles", "", r["metadata"]["name"]): r for r in self._all("clusterroles")}
        return self._roles.get((kind, namespace, name))

    def rules(self, user: UserInfo, namespace: str) -> Iterator[tuple[Rule | None, str]]:
        """The rules of a user at the cluster scope and in a namespace; a missing role is (None, its error)."""
        for binding in self._all("clusterrolebindings"):
            if binding_subject(binding.get("subjects"), user.name, user.groups) is not None:
                yield from self._rules_of(binding["roleRef"], "")
        if not namespace:
            return
        for binding in self._all("rolebindings"):
            own = binding["metadata"]["namespace"]
            if own == namespace and binding_subject(binding.get("subjects"), user.name, user.groups, own) is not None:
                yield from self._rules_of(binding["roleRef"], own)

    def _rules_of(self, reference: dict[str, str], namespace: str) -> Iterator[tuple[Rule | None, str]]:
        kind = reference["kind"]
        plural = "clusterroles" if kind == "ClusterRole" else "roles"
        role = self._role(plural, "" if plural == "clusterroles" else namespace, reference["name"])
        if role is None:
            yield None, f'{kind.lower()}.{GROUP} "{reference["name"]}" not found'
            return
        for rule in role.get("rules") or ():
            yield rule, ""

    def allowed(self, user: UserInfo, wanted: Attributes) -> tuple[bool, str]:
        """Whether a user may do it; if not, the errors of evaluating the rules ("" for none)."""
        if MASTERS in user.groups:
            return True, ""
        errors: list[str] = []
        for rule, error in self.rules(user, wanted.namespace):
            if rule is None:
                errors.append(error)
            elif _allows(rule, wanted):
                return True, ""
        unique = list(dict.fromkeys(errors))
        if not unique:
            return False, ""
        return False, "RBAC: " + (unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]")

    def explain(self, user: UserInfo, wanted: Attributes) -> str:
        """The reason: the binding and role that allow it."""
        for kind in ("clusterrolebindings", "rolebindings"):
            for binding in self._all(kind):
                own = binding["metadata"].get("namespace", "")
                if own and own != wanted.namespace:
                    continue
                subject = binding_subject(binding.get("subjects"), user.name, user.groups, own)
                if subject is None:
                    continue
                if any(r is not None and _allows(r, wanted) for r, _ in self._rules_of(binding["roleRef"], own)):
                    return _because(binding, subject, own)
        return ""

    def held(self, user: UserInfo, namespace: str) -> list[Rule]:
        return [rule for rule, _ in self.rules(user, namespace) if rule is not None]


def _allows(rule: Rule, wanted: Attributes) -> bool:
    if wanted.path:
        return rule_allows_url(rule, wanted.verb, wanted.path)
    return rule_allows(rule, wanted.verb, wanted.group, wanted.resource, wanted.subresource, wanted.name)


def _because(binding: dict[str, Any], subject: Any, namespace: str) -> str:
    reference, name = binding["roleRef"], subject["name"]
    if subject["kind"] == "ServiceAccount":
        name = f"{name}/{subject.get('namespace') or namespace}"
    own = binding["metadata"]["name"] + (f"/{namespace}" if namespace else "")
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    return f'RBAC: allowed by {kind} "{own}" of {reference["kind"]} "{reference["name"]}" to {subject["kind"]} "{name}"'


def refusal(user: UserInfo, wanted: Attributes, reason: str) -> str:
    """Why a request is forbidden, in the server's words."""
    if wanted.path:
        text = f'User "{user.name}" cannot {wanted.verb} path "{wanted.path}"'
    else:
        resource = f"{wanted.resource}/{wanted.subresource}" if wanted.subresource else wanted.resource
        where = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
        text = f'User "{user.name}" cannot {wanted.verb} resource "{resource}" in API group "{wanted.group}" {where}'
    return f"{text}: {reason}" if reason else text
