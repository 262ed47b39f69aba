"""What a workload needs beside itself: the objects that its fields name.

A pod template names other objects in many places. `_FIELDS` lists them all, as paths of a v1 PodSpec, so that
finding them is one walk over a tree that is made of these paths. Each reference knows where it stands, so that another
name can be put there.

Left out is what exists in every cluster or namespace (the service account `default`, for example), and what names no
object that a namespace holds: nodes, schedulers, signers, volumes of a storage system.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from jobrelay.kube import Resource
from jobrelay.kube.resource import CONFIGMAPS, PERSISTENTVOLUMECLAIMS, SECRETS, SERVICEACCOUNTS

FieldPath: TypeAlias = tuple[str | int, ...]
"""The keys and positions from the root of an object to a field."""

PRIORITYCLASSES: Final = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
RUNTIMECLASSES: Final = Resource("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", namespaced=False)
RESOURCECLAIMS: Final = Resource("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim")
RESOURCECLAIMTEMPLATES: Final = Resource("resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate")
TRUSTBUNDLES: Final = Resource(
    "certificates.k8s.io", "v1beta1", "clustertrustbundles", "ClusterTrustBundle", namespaced=False
)
ENDPOINTS: Final = Resource("", "v1", "endpoints", "Endpoints")
WORKLOADS: Final = Resource("scheduling.k8s.io", "v1alpha1", "workloads", "Workload")

_CONTAINERS: Final = {
    "envFrom/*/configMapRef/name": CONFIGMAPS,
    "envFrom/*/secretRef/name": SECRETS,
    "env/*/valueFrom/configMapKeyRef/name": CONFIGMAPS,
    "env/*/valueFrom/secretKeyRef/name": SECRETS,
}
_VOLUMES: Final = {
    "configMap/name": CONFIGMAPS,
    "secret/secretName": SECRETS,
    "persistentVolumeClaim/claimName": PERSISTENTVOLUMECLAIMS,
    "projected/sources/*/configMap/name": CONFIGMAPS,
    "projected/sources/*/secret/name": SECRETS,
    "projected/sources/*/clusterTrustBundle/name": TRUSTBUNDLES,
    "csi/nodePublishSecretRef/name": SECRETS,
    "azureFile/secretName": SECRETS,
    "cephfs/secretRef/name": SECRETS,
    "cinder/secretRef/name": SECRETS,
    "flexVolume/secretRef/name": SECRETS,
    "iscsi/secretRef/name": SECRETS,
    "rbd/secretRef/name": SECRETS,
    "scaleIO/secretRef/name": SECRETS,
    "storageos/secretRef/name": SECRETS,
    "glusterfs/endpoints": ENDPOINTS,
}
_FIELDS: Final = {
    "serviceAccountName": SERVICEACCOUNTS,
    "serviceAccount": SERVICEACCOUNTS,
    "priorityClassName": PRIORITYCLASSES,
    "runtimeClassName": RUNTIMECLASSES,
    "imagePullSecrets/*/name": SECRETS,
    "resourceClaims/*/resourceClaimName": RESOURCECLAIMS,
    "resourceClaims/*/resourceClaimTemplateName": RESOURCECLAIMTEMPLATES,
    "workloadRef/name": WORKLOADS,
    **{f"volumes/*/{path}": resource for path, resource in _VOLUMES.items()},
    **{
        f"{group}/*/{path}": resource
        for group in ("containers", "initContainers", "ephemeralContainers")
        for path, resource in _CONTAINERS.items()
    },
}
"""The fields of a v1.35 PodSpec that name an object; `*` stands for the items of a list."""
_EVERYWHERE: Final = frozenset(
    {
        (SERVICEACCOUNTS, "default"),
        (CONFIGMAPS, "kube-root-ca.crt"),
        (PRIORITYCLASSES, "system-cluster-critical"),
        (PRIORITYCLASSES, "system-node-critical"),
    }
)


class ObjectName(NamedTuple):
    """Names one object of a cluster; the namespace is empty if its kind is cluster-scoped."""

    resource: Resource
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.resource.kind} {where}{self.name}"


class Reference(msgspec.Struct, frozen=True):
    """An object that a workload names, and where."""

    resource: Resource
    name: str
    namespace: str
    """Empty if the kind is cluster-scoped."""
    optional: bool = False
    """Whether the workload runs without it."""
    paths: tuple[FieldPath, ...] = ()
    """Every field of the workload that holds the name; none if another object does, which the workload names."""

    @property
    def target(self) -> ObjectName:
        return ObjectName(self.resource, self.namespace, self.name)


_Tree: TypeAlias = "dict[str, _Tree | Resource]"


def pod_references(template: Mapping[str, Any], namespace: str, at: FieldPath = ()) -> list[Reference]:
    """What the pods of a template need in their namespace; `at` is where the template stands in its workload."""
    spec = template.get("spec")
    return list(_walk(spec, _TREE, (*at, "spec"), namespace)) if isinstance(spec, Mapping) else []


def merged(references: Iterable[Reference]) -> tuple[Reference, ...]:
    """One reference for each object: optional only if every one of them is, with the paths of all.

    One that another object names, too, has no paths: its name cannot be replaced everywhere.
    """
    found: dict[ObjectName, Reference] = {}
    for each in references:
        before = found.get(each.target)
        if before is not None:
            paths = tuple(dict.fromkeys((*before.paths, *each.paths))) if before.paths and each.paths else ()
            each = msgspec.structs.replace(each, optional=before.optional and each.optional, paths=paths)
        found[each.target] = each
    return tuple(found.values())


def renamed(
    body: Mapping[str, Any], references: Iterable[Reference], names: Mapping[ObjectName, str]
) -> dict[str, Any]:
    """A body with other names at the paths of references; only what changes is copied.

    A path that the body does not have, or where it holds another name, is left alone: a mirror lacks some fields of
    its original, and a patch has only a few.
    """
    changed: Any = body
    for each in references:
        new = names.get(each.target)
        if new is not None and new != each.name:
            for path in each.paths:
                changed = _replaced(changed, path, each.name, new)
    return dict(changed)


def _replaced(value: Any, path: FieldPath, old: str, new: str) -> Any:
    if not path:
        return new if value == old else value
    key, rest = path[0], path[1:]
    if isinstance(value, Mapping) and key in value:
        return {**value, key: _replaced(value[key], rest, old, new)}
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return [*value[:key], _replaced(value[key], rest, old, new), *value[key + 1 :]]
    return value


def _walk(value: Any, tree: _Tree, path: FieldPath, namespace: str) -> Iterator[Reference]:
    """The references below a value, which may be anything: only what has the expected form is followed."""
    if "*" in tree:
        below = tree["*"]
        assert isinstance(below, dict)
        for position, item in enumerate(value if isinstance(value, list) else ()):
            yield from _walk(item, below, (*path, position), namespace)
    elif isinstance(value, Mapping):
        for key, below in tree.items():
            found = value.get(key)
            if not found:
                continue
            if isinstance(below, dict):
                yield from _walk(found, below, (*path, key), namespace)
            elif isinstance(found, str) and (below, found) not in _EVERYWHERE:
                where = namespace if below.namespaced else ""
                yield Reference(below, found, where, value.get("optional") is True, ((*path, key),))


def _tree(fields: Mapping[str, Resource]) -> _Tree:
    root: _Tree = {}
    for text, resource in fields.items():
        *parents, last = text.split("/")
        node = root
        for part in parents:
            below = node.setdefault(part, {})
            assert isinstance(below, dict)
            node = below
        node[last] = resource
    return root


_TREE: Final = _tree(_FIELDS)
