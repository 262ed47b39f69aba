"""Building blocks of manifests, and the API resources of their kinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from jobrelay.kube import Resource, resource

__all__ = [
    "LABELS", "MANAGED_BY", "Manifest", "as_yaml", "binding", "describe", "manifest", "resource_of", "role", "rule",
]  # fmt: skip

Manifest: TypeAlias = dict[str, Any]

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
LABELS: Final = {MANAGED_BY: "jobrelay"}
_RESOURCES: Final = {
    (found.api_version, found.kind): found for found in vars(resource).values() if isinstance(found, Resource)
}


def resource_of(made: Mapping[str, Any]) -> Resource:
    """The API resource of a manifest's kind."""
    return _RESOURCES[made["apiVersion"], made["kind"]]


def describe(made: Mapping[str, Any]) -> str:
    """An object's kind, name and namespace: `Role jobrelay in namespace a`."""
    found = made["metadata"]
    where = f" in namespace {found['namespace']}" if "namespace" in found else ""
    return f"{made['kind']} {found['name']}{where}"


def manifest(
    kind: Resource, name: str, namespace: str = "", labels: Mapping[str, str] | None = None, **fields: Any
) -> Manifest:
    """An object with the label of everything that jobrelay manages, and with further fields beside its metadata."""
    scope = {"namespace": namespace} if namespace else {}
    metadata = {"name": name, **scope, "labels": {**LABELS, **(labels or {})}}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **fields}


def as_yaml(manifests: Iterable[Mapping[str, Any]]) -> str:
    """One YAML document per manifest."""
    import yaml

    text: str = yaml.safe_dump_all(list(manifests), sort_keys=False, allow_unicode=True, width=1000)
    return text


def rule(group: str, resources: str, verbs: str, *names: str) -> Manifest:
    """A rule of a role; resources and verbs are separated by spaces."""
    only = {"resourceNames": list(names)} if names else {}
    return {"apiGroups": [group], "resources": resources.split(), **only, "verbs": verbs.split()}


def role(name: str, namespace: str, rules: Sequence[Manifest], labels: Mapping[str, str] | None = None) -> Manifest:
    """A Role, or a ClusterRole if the namespace is empty."""
    kind = resource.ROLES if namespace else resource.CLUSTERROLES
    return manifest(kind, name, namespace, labels, rules=list(rules))


def binding(name: str, namespace: str, account: tuple[str, str], labels: Mapping[str, str] | None = None) -> Manifest:
    """Binds the role of the same name and scope to a service account, given as (namespace, name)."""
    bound = resource.ROLES if namespace else resource.CLUSTERROLES
    kind = resource.ROLEBINDINGS if namespace else resource.CLUSTERROLEBINDINGS
    role_ref = {"apiGroup": bound.group, "kind": bound.kind, "name": name}
    subjects = [{"kind": "ServiceAccount", "namespace": account[0], "name": account[1]}]
    return manifest(kind, name, namespace, labels, roleRef=role_ref, subjects=subjects)
