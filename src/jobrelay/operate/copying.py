"""What the relay may do about copies: read their sources on the management cluster, make and remove them on workers.

A role cannot say that only copies may be deleted, so a policy does, as for mirrors. It cannot be said by a role or a
policy that only copies may be read: where Secrets are copied, the relay may read the Secrets of that namespace.
"""

from __future__ import annotations

from jobrelay.kube import Resource
from jobrelay.kube.resource import VALIDATINGADMISSIONPOLICIES
from jobrelay.operate.manifests import Manifest, binding, manifest, role, rule
from jobrelay.operate.policy import policy_binding
from jobrelay.relay.copy_rules import CopyRules
from jobrelay.relay.dependencies.copies import COPY, RESOURCES
from jobrelay.workloads.names import ORIGIN

__all__ = ["copy_arguments", "copy_policy", "copy_rules", "source_manifests"]


def copy_arguments(rules: CopyRules) -> list[str]:
    """The options of `jobrelay relay run`."""
    return [f"--copy={text}" for text in rules.texts()]


def source_manifests(rules: CopyRules, name: str, account: tuple[str, str]) -> list[Manifest]:
    """Roles on the management cluster that let the relay read what it copies, and their bindings."""
    granted: dict[str, list[Manifest]] = {}
    for kind, where in rules.namespaces.items():
        for namespace in sorted(where) if where is not None else ("",):
            granted.setdefault(namespace, []).append(_rule(RESOURCES[kind], "get"))
    return [
        made
        for namespace, found in granted.items()
        for made in (role(name, namespace, found), binding(name, namespace, account))
    ]


def copy_rules(rules: CopyRules, namespace: str) -> list[Manifest]:
    """Rules of a role on a worker for copies in a namespace, or without one for kinds that are in none."""
    found = []
    for kind, where in rules.namespaces.items():
        if RESOURCES[kind].namespaced is bool(namespace) and (where is None or namespace in where):
            found.append(_rule(RESOURCES[kind], "create get list delete"))
    return found


def copy_policy(rules: CopyRules, name: str, username: str, origin: str, labels: dict[str, str]) -> list[Manifest]:
    """A policy on a worker by which this user creates and deletes nothing but its own copies, and its binding."""
    if not rules:
        return []
    resources = [
        {
            "apiGroups": [each.group],
            "apiVersions": ["*"],
            "resources": [each.plural],
            "operations": ["CREATE", "DELETE"],
        }
        for each in map(RESOURCES.__getitem__, rules.namespaces)
    ]
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"matchPolicy": "Equivalent", "resourceRules": resources},
        "matchConditions": [{"name": "relay", "expression": f"request.userInfo.username == '{username}'"}],
        "variables": [{"name": "copy", "expression": "request.operation == 'DELETE' ? oldObject : object"}],
        "validations": [_only_copies(origin)],
    }
    full = f"{name}-copies"
    return [manifest(VALIDATINGADMISSIONPOLICIES, full, labels=labels, spec=spec), policy_binding(full, labels)]


def _only_copies(origin: str) -> Manifest:
    found = "variables.copy.metadata.labels"
    marked = f"has({found}) && '{COPY}' in {found} && '{ORIGIN}' in {found} && {found}['{ORIGIN}'] == '{origin}'"
    message = f"jobrelay: a copy must have labels {ORIGIN}={origin} and {COPY}"
    return {"expression": marked, "message": message, "reason": "Forbidden"}


def _rule(resource: Resource, verbs: str) -> Manifest:
    return rule(resource.group, resource.plural, verbs)
