"""Kinds of objects as values.

A `Resource` has the group, version, plural, kind and scope from which the client builds paths. Custom resources work
like built-in ones: `Resource("ray.io", "v1", "rayjobs", "RayJob")`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

__all__ = [
    "APISERVICES", "CLUSTERROLEBINDINGS", "CLUSTERROLES", "CONFIGMAPS", "CRONJOBS", "CUSTOMRESOURCEDEFINITIONS",
    "DEPLOYMENTS", "EVENTS", "EVENTS_CORE", "JOBS", "LEASES", "MUTATINGWEBHOOKCONFIGURATIONS", "NAMESPACES", "NODES",
    "PODDISRUPTIONBUDGETS", "PODS", "ROLEBINDINGS", "ROLES", "SECRETS", "SELFSUBJECTACCESSREVIEWS", "SERVICEACCOUNTS",
    "SERVICES", "VALIDATINGADMISSIONPOLICIES", "VALIDATINGADMISSIONPOLICYBINDINGS", "VALIDATINGWEBHOOKCONFIGURATIONS",
    "Resource", "is_built_in",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of objects, and where the API serves them."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The `apiVersion` of its objects: `batch/v1`, or `v1` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """The URL path of the collection, of one object, or of a subresource.

        The path of a namespaced collection without a namespace is that of all namespaces.
        """
        self._check_scope(namespace, name)
        path = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if namespace:
            path += f"/namespaces/{_segment(namespace)}"
        path += f"/{self.plural}"
        if name is not None:
            path += f"/{_segment(name)}"
        return f"{path}/{subresource}" if subresource else path

    def _check_scope(self, namespace: str | None, name: str | None) -> None:
        if namespace and not self.namespaced:
            raise ValueError(f"{self} are cluster-scoped and take no namespace, got {namespace!r}")
        if name is not None and self.namespaced and not namespace:
            raise ValueError(f"{self} are namespaced: {name!r} needs a namespace")


_plain = re.compile(r"[A-Za-z0-9_.~:-]+").fullmatch


def is_built_in(resource: Resource) -> bool:
    """Whether every cluster serves a kind: the API group of a definition has a dot in its name."""
    return "." not in resource.group


def _segment(text: str) -> str:
    if text in ("", ".", "..") or "/" in text or "%" in text:
        raise ValueError(f"{text!r} cannot be a name in the API")
    return text if _plain(text) else quote(text, safe=":")


APISERVICES = Resource("apiregistration.k8s.io", "v1", "apiservices", "APIService", namespaced=False)
_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"

PODS = Resource("", "v1", "pods", "Pod")
CONFIGMAPS = Resource("", "v1", "configmaps", "ConfigMap")
SECRETS = Resource("", "v1", "secrets", "Secret")
SERVICES = Resource("", "v1", "services", "Service")
PERSISTENTVOLUMECLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
PERSISTENTVOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
SERVICEACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
EVENTS_CORE = Resource("", "v1", "events", "Event")
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
JOBS = Resource("batch", "v1", "jobs", "Job")
CRONJOBS = Resource("batch", "v1", "cronjobs", "CronJob")
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
ROLES = Resource(_RBAC, "v1", "roles", "Role")
ROLEBINDINGS = Resource(_RBAC, "v1", "rolebindings", "RoleBinding")
SELFSUBJECTACCESSREVIEWS = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)
CUSTOMRESOURCEDEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
STORAGECLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
PODDISRUPTIONBUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
CLUSTERROLES = Resource(_RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False)
CLUSTERROLEBINDINGS = Resource(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
MUTATINGWEBHOOKCONFIGURATIONS = Resource(
    _ADMISSION, "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", namespaced=False
)
VALIDATINGWEBHOOKCONFIGURATIONS = Resource(
    _ADMISSION, "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", namespaced=False
)
VALIDATINGADMISSIONPOLICIES = Resource(
    _ADMISSION, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", namespaced=False
)
VALIDATINGADMISSIONPOLICYBINDINGS = Resource(
    _ADMISSION, "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", namespaced=False
)
