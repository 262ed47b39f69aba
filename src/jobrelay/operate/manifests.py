"""Building blocks of manifests, and the API resources of their kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from jobrelay.kube import Resource, resource

__all__ = [
    "LABELS", "MANAGED_BY", "Manifest", "binding", "describe", "metadata", "namespace", "resource_of", "role", "rule",
    "service_account",
]  # fmt: skip

Manifest: TypeAlias = dict[str, Any]

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
LABELS: Final = {MANAGED_BY: "jobrelay"}
_RBAC: Final = "rbac.authorization.k8s.io"
_RESOURCES: Final = {
    (found.api_version, found.kind): found for found in vars(resource).values() if isinstance(found, Resource)
}


def resource_of(manifest: Mapping[str, Any]) -> Resource:
    """The API resource of a manifest's kind."""
    return _RESOURCES[manifest["apiVersion"], manifest["kind"]]


def describe(manifest: Mapping[str, Any]) -> str:
    """An object's kind, name and namespace: `Role jobrelay in namespace a`."""
    found = manifest["metadata"]
    where = f" in namespace {found['namespace']}" if "namespace" in found else ""
    return f"{manifest['kind']} {found['name']}{where}"


def metadata(name: str, namespace: str = "", labels: Mapping[str, str] | None = None) -> Manifest:
    """Name, namespace and labels, including the label of everything that jobrelay manages."""
    scope = {"namespace": namespace} if namespace else {}
    return {"name": name, **scope, "labels": {**LABELS, **(labels or {})}}


def namespace(name: str, labels: Mapping[str, str] | None = None) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(name, labels=labels)}


def service_account(name: str, namespace: str, labels: Mapping[str, str] | None = None) -> Manifest:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(name, namespace, labels)}


def rule(group: str, resources: str, verbs: str, *names: str) -> Manifest:
    """A rule of a role; resources and verbs are separated by spaces."""
    only = {"resourceNames": list(names)} if names else {}
    return {"apiGroups": [group], "resources": resources.split(), **only, "verbs": verbs.split()}


def role(name: str, namespace: str, rules: Sequence[Manifest], labels: Mapping[str, str] | None = None) -> Manifest:
    """A Role, or a ClusterRole if the namespace is empty."""
    kind = "Role" if namespace else "ClusterRole"
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": kind,
        "metadata": metadata(name, namespace, labels),
        "rules": list(rules),
    }


def binding(name: str, namespace: str, account: tuple[str, str], labels: Mapping[str, str] | None = None) -> Manifest:
    """Binds the role of the same name and scope to a service account, given as (namespace, name)."""
    kind = "Role" if namespace else "ClusterRole"
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata(name, namespace, labels),
        "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "namespace": account[0], "name": account[1]}],
    }
