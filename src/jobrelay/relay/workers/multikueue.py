"""Reads MultiKueueCluster and MultiKueueConfig objects.

Version v1beta2 has `spec.clusterSource.kubeConfig` where v1beta1 had `spec.kubeConfig`. Older versions of Kueue serve
only v1beta1, so both are read.
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
from jobrelay.relay.workers.spec import (
    Access,
    RejectedKubeconfig,
    WorkerSpec,
    parse_worker_annotations,
    served_namespaces,
)

GROUP = "kueue.x-k8s.io"
VERSIONS = ("v1beta2", "v1beta1")
CLUSTERS = {
    version: Resource(GROUP, version, "multikueueclusters", "MultiKueueCluster", namespaced=False)
    for version in VERSIONS
}
CONFIGS = {
    version: Resource(GROUP, version, "multikueueconfigs", "MultiKueueConfig", namespaced=False) for version in VERSIONS
}
WORKLOADS = Resource(GROUP, "v1beta2", "workloads", "Workload")
"""What Kueue queues: a worker that serves them runs Kueue."""
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
class KubeconfigLocation:
    """The Secret or the file that holds a kubeconfig."""

    name: str
    in_file: bool = False


def location(cluster: Object) -> KubeconfigLocation | RejectedKubeconfig:
    """The location of a MultiKueueCluster's kubeconfig."""
    try:
        spec = cluster.decode(_Cluster).spec
    except ProtocolError as error:
        return bad(str(error))
    source = spec.cluster_source or _Source(spec.kube_config, spec.cluster_profile_ref)
    if source.kube_config is not None and source.kube_config.location:
        return KubeconfigLocation(source.kube_config.location, source.kube_config.location_type == "Path")
    if source.cluster_profile_ref is not None:
        message = "load client config failed: clusterProfileRef is not supported; name a kubeConfig"
        return RejectedKubeconfig("MultiKueueClusterProfileFeatureDisabled", message)
    return bad("neither a Secret nor a file with a kubeconfig is named")


def kubeconfig_in(secret: Object) -> bytes:
    """The kubeconfig in a Secret, empty if it has none; raises ProtocolError and binascii.Error."""
    return base64.b64decode(secret.decode(_Secret).data.get(KEY, ""), validate=True)


def secret_access(secret: Object | None, name: str, namespace: str, allow_exec: frozenset[str]) -> Access:
    """Check the kubeconfig in a Secret."""
    if secret is None:
        return bad(f"there is no Secret {name!r} in namespace {namespace!r}")
    try:
        kubeconfig = kubeconfig_in(secret)
        if not kubeconfig:
            return bad(f"Secret {name!r} in namespace {namespace!r} has no key {KEY!r}")
        return from_text(kubeconfig, allow_exec)
    except (ProtocolError, binascii.Error) as error:
        return bad(f"Secret {name!r} in namespace {namespace!r} cannot be read: {error}")


def selected_names(names: Sequence[str], config: Object | None, wanted: str | None) -> list[str]:
    """The registered workers in order: all by name, or those of the wanted MultiKueueConfig."""
    if wanted is None:
        return sorted(names)
    return [name for name in listed_clusters(config) if name in names] if config is not None else []


def listed_clusters(config: Object) -> tuple[str, ...]:
    """The workers that a MultiKueueConfig names, in its order, registered or not."""
    try:
        return tuple(dict.fromkeys(config.decode(_Config).spec.clusters))
    except ProtocolError:
        return ()


def spec_of(cluster: Object, order: int, read: Callable[[KubeconfigLocation], Access]) -> WorkerSpec:
    """The registration of a worker by a MultiKueueCluster."""
    where = location(cluster)
    metadata = cluster.metadata
    state, cost, weight, remarks = parse_worker_annotations(metadata.annotations)
    namespaces, more = served_namespaces(metadata.annotations)
    if more and not namespaces:
        state = State.CORDONED if state is State.OPEN else state
    access = where if isinstance(where, RejectedKubeconfig) else read(where)
    labels: Mapping[str, str] = metadata.labels
    return WorkerSpec(cluster.name, access, order, labels, state, cost, weight, remarks + more, namespaces)
