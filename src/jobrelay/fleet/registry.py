"""Workers as they are registered on the management cluster: MultiKueueCluster objects and the Secrets they name."""

from __future__ import annotations

import base64
import pathlib
from collections.abc import Mapping
from typing import Any

from jobrelay.fleet.errors import FleetError
from jobrelay.kube import Client, Connection, NotFound, Object, Resource, merge_patch, serves
from jobrelay.kube.resource import SECRETS
from jobrelay.relay.names import STATE
from jobrelay.relay.overview import WorkerView
from jobrelay.relay.workers import Access, RejectedKubeconfig, UsableKubeconfig, ensure_crds, ensure_namespace
from jobrelay.relay.workers.access import from_text
from jobrelay.relay.workers.kubeconfig_file import read_foreign
from jobrelay.relay.workers.multikueue import CLUSTERS, KEY, KubeconfigLocation, location, secret_access
from jobrelay.relay.workers.spec import parse_worker_annotations

__all__ = [
    "check_kubeconfig",
    "cluster_view",
    "clusters",
    "get_cluster",
    "register",
    "set_state",
    "unregister",
    "worker_connection",
]

_MANAGER = "jobrelay-cli"


async def served(client: Client) -> Resource:
    """MultiKueueClusters in the version that the management cluster has; raises FleetError if it has none."""
    for resource in CLUSTERS.values():
        if await serves(client, resource):
            return resource
    raise FleetError(
        "there are no MultiKueueCluster objects here", "`jobrelay relay run` and `jobrelay worker add` define them"
    )


async def clusters(client: Client) -> list[Object]:
    """All registered workers; none where the kind is not even known."""
    for resource in CLUSTERS.values():
        if await serves(client, resource):
            return list((await client.list(resource)).items)
    return []


async def get_cluster(client: Client, name: str) -> Object:
    """One registered worker; raises FleetError."""
    try:
        return await client.get(await served(client), name)
    except NotFound:
        known = ", ".join(each.name for each in await clusters(client))
        raise FleetError(
            f"there is no worker {name!r}", f"there are: {known}" if known else "none is registered"
        ) from None


def cluster_view(cluster: Object, jobs: int) -> WorkerView:
    """A worker as its object tells of it, for those who cannot ask the relay."""
    state, _, _, remarks = parse_worker_annotations(cluster.metadata.annotations)
    found = (cluster.decode().get("status") or {}).get("conditions") or []
    active = next((one for one in found if one.get("type") == "Active"), None)
    connected = active is not None and active.get("status") == "True"
    reason = "" if connected else (active or {}).get("message", "no relay has said anything about it yet")
    return WorkerView(
        cluster.name, connected, state.value, jobs, reason, capacity_unknown="only the relay knows", remarks=remarks
    )


async def set_state(client: Client, name: str, state: str | None) -> None:
    """Writes what an operator wants of a worker; None is the usual."""
    await get_cluster(client, name)
    patch = merge_patch({"metadata": {"annotations": {STATE: state}}})
    await client.patch(await served(client), name, patch, field_manager=_MANAGER)


async def register(
    client: Client,
    name: str,
    kubeconfig: bytes,
    namespace: str,
    *,
    secret_annotations: Mapping[str, str] | None = None,
    **metadata: Any,
) -> bool:
    """Creates or updates a worker's Secret and object; returns whether it is new."""
    await ensure_namespace(client, namespace)
    await ensure_crds(client)
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace, "annotations": dict(secret_annotations or {})},
        "data": {KEY: base64.b64encode(kubeconfig).decode()},
    }
    await client.apply(SECRETS, secret, field_manager=_MANAGER, force=True)
    resource = await served(client)
    where = {"location": name, "locationType": "Secret"}
    spec = {"clusterSource": {"kubeConfig": where}} if resource.version == "v1beta2" else {"kubeConfig": where}
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    before = {each.name for each in await clusters(client)}
    body = {**kind, "metadata": {"name": name, **metadata}, "spec": spec}
    await client.apply(resource, body, field_manager=_MANAGER, force=True)
    return name not in before


async def unregister(client: Client, name: str, namespace: str) -> None:
    """Removes a worker's object, and its Secret if that has its name."""
    await get_cluster(client, name)
    await client.delete(await served(client), name)
    try:
        await client.delete(SECRETS, name, namespace)
    except NotFound:
        return


def check_kubeconfig(text: bytes) -> str:
    """Why the relay would not use a kubeconfig; empty if it would."""
    found = from_text(text)
    return "" if isinstance(found, UsableKubeconfig) else found.message


async def worker_connection(client: Client, name: str, namespace: str) -> Connection:
    """How to reach a worker by what is registered; raises FleetError."""
    where = location(await get_cluster(client, name))
    access = where if isinstance(where, RejectedKubeconfig) else await _access(client, where, namespace)
    if isinstance(access, RejectedKubeconfig):
        raise FleetError(f"worker {name!r} cannot be reached: {access.message}")
    return access.connection


async def _access(client: Client, where: KubeconfigLocation, namespace: str) -> Access:
    if where.in_file:
        return read_foreign(pathlib.Path(where.name), frozenset())
    try:
        secret = await client.get(SECRETS, where.name, namespace)
    except NotFound:
        return secret_access(None, where.name, namespace, frozenset())
    return secret_access(secret, where.name, namespace, frozenset())
