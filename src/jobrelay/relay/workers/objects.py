"""MultiKueueCluster and MultiKueueConfig: how they are read.

Version v1beta2 says `spec.clusterSource.kubeConfig` where v1beta1 said `spec.kubeConfig`. Our own definitions keep either
spelling in either version, so both are read everywhere.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from jobrelay.kube import Object, ProtocolError, Resource
from jobrelay.relay.model import State
from jobrelay.relay.workers.access import bad, from_text
from jobrelay.relay.workers.spec import Access, Refused, WorkerSpec, served_namespaces, wishes

__all__ = ["CLUSTERS", "CONFIGS", "Location", "chosen", "location", "secret_access", "spec_of"]

GROUP = "kueue.x-k8s.io"
VERSIONS = ("v1beta2", "v1beta1")
CLUSTERS = {
    version: Resource(GROUP, version, "multikueueclusters", "MultiKueueCluster", namespaced=False)
    for version in VERSIONS
}
CONFIGS = {
    version: Resource(GROUP, version, "multikueueconfigs", "MultiKueueConfig", namespaced=False) for version in VERSIONS
}
KEY = "kubeconfig"


class _KubeConfig(msgspec.Struct, frozen=True, rename="camel"):
    location: str = ""
    location_type: str = "Secret"


class _Source(msgspec.Struct, frozen=True, rename="camel"):
    kube_config: _KubeConfig | None = None
    cluster_profile_ref: dict[str, str] | None = None


class _ClusterSpec(msgspec.Struct, frozen=True, rename="camel"):
    cluster_source: _Source | None = None
    kube_config: _KubeConfig | None = None
    cluster_profile_ref: dict[str, str] | None = None


class _Cluster(msgspec.Struct, frozen=True):
    spec: _ClusterSpec = _ClusterSpec()


class _ConfigSpec(msgspec.Struct, frozen=True):
    clusters: tuple[str, ...] = ()


class _Config(msgspec.Struct, frozen=True):
    spec: _ConfigSpec = _ConfigSpec()


class _Secret(msgspec.Struct, frozen=True):
    data: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Location:
    """Where a kubeconfig is kept: in the Secret or the file of this name."""

    name: str
    in_file: bool = False


def location(cluster: Object) -> Location | Refused:
    """Where the kubeconfig of a MultiKueueCluster is."""
    try:
        spec = cluster.decode(_Cluster).spec
    except ProtocolError as error:
        return bad(str(error))
    source = spec.cluster_source or _Source(spec.kube_config, spec.cluster_profile_ref)
    if source.kube_config is not None and source.kube_config.location:
        return Location(source.kube_config.location, source.kube_config.location_type == "Path")
    if source.cluster_profile_ref is not None:
        message = "load client config failed: clusterProfileRef is not supported; name a kubeConfig"
        return Refused("MultiKueueClusterProfileFeatureDisabled", message)
    return bad("neither a Secret nor a file with a kubeconfig is named")


def secret_access(secret: Object | None, name: str, namespace: str, allow_exec: frozenset[str]) -> Access:
    """The way that the kubeconfig in a Secret leads."""
    if secret is None:
        return bad(f"there is no Secret {name!r} in namespace {namespace!r}")
    try:
        encoded = secret.decode(_Secret).data.get(KEY)
        if not encoded:
            return bad(f"Secret {name!r} in namespace {namespace!r} has no key {KEY!r}")
        return from_text(base64.b64decode(encoded, validate=True), allow_exec)
    except (ProtocolError, binascii.Error) as error:
        return bad(f"Secret {name!r} in namespace {namespace!r} cannot be read: {error}")


def chosen(names: Sequence[str], config: Object | None, wanted: str | None) -> list[str]:
    """The registered workers in their order: all by name, or those of the wanted MultiKueueConfig."""
    if wanted is None:
        return sorted(names)
    if config is None:
        return []
    try:
        listed = config.decode(_Config).spec.clusters
    except ProtocolError:
        return []
    return [name for name in dict.fromkeys(listed) if name in names]


def spec_of(cluster: Object, order: int, read: Callable[[Location], Access]) -> WorkerSpec:
    """What a MultiKueueCluster says about a worker."""
    where = location(cluster)
    metadata = cluster.metadata
    state, cost, weight, remarks = wishes(metadata.annotations)
    namespaces, doubts = served_namespaces(metadata.annotations)
    if doubts and not namespaces:
        state = State.CORDONED if state is State.OPEN else state
    access = where if isinstance(where, Refused) else read(where)
    labels: Mapping[str, str] = metadata.labels
    return WorkerSpec(cluster.name, access, order, labels, state, cost, weight, remarks + doubts, namespaces)
