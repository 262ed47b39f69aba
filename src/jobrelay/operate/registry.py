"""The workers registered on a management cluster: MultiKueueCluster objects and the Secrets with their kubeconfigs."""

from __future__ import annotations

import base64
import pathlib
from collections.abc import Mapping
from typing import Any

from jobrelay.kube import Client, Connection, NotFound, Object, Resource, merge_patch, serves
from jobrelay.kube.resource import SECRETS
from jobrelay.operate.applying import MANAGER, find
from jobrelay.operate.errors import OperateError
from jobrelay.relay.names import STATE
from jobrelay.relay.worker_view import WorkerView
from jobrelay.relay.workers import Access, RejectedKubeconfig, UsableKubeconfig, ensure_crds, ensure_namespace
from jobrelay.relay.workers.access import from_text
from jobrelay.relay.workers.kubeconfig_file import read_foreign
from jobrelay.relay.workers.multikueue import CLUSTERS, KEY, KubeconfigLocation, location, secret_access
from jobrelay.relay.workers.spec import parse_worker_annotations

__all__ = [
    "check_kubeconfig", "get_worker", "list_workers", "register_worker", "registered_view", "set_worker_state",
    "unregister_worker", "worker_connection",
]  # fmt: skip


async def _find_resource(client: Client) -> Resource | None:
    """MultiKueueClusters in the version that the management cluster serves."""
    for resource in CLUSTERS.values():
        if await serves(client, resource):
            return resource
    return None


async def _resource(client: Client) -> Resource:
    resource = await _find_resource(client)
    if resource is None:
        raise OperateError(
            "the management cluster has no MultiKueueCluster resource",
            "`jobrelay install --apply` or `jobrelay worker add` creates its definition",
        )
    return resource


async def list_workers(client: Client) -> list[Object]:
    """All registered workers; empty if the management cluster has no MultiKueueCluster resource."""
    resource = await _find_resource(client)
    return [] if resource is None else list((await client.list(resource)).items)


async def get_worker(client: Client, name: str) -> Object:
    """One registered worker; raises OperateError if there is no worker of that name."""
    try:
        return await client.get(await _resource(client), name)
    except NotFound:
        known = ", ".join(each.name for each in await list_workers(client))
        raise OperateError(
            f"worker {name!r} is not registered", f"registered workers: {known}" if known else "no worker is registered"
        ) from None


def registered_view(worker: Object, jobs: int) -> WorkerView:
    """What a worker's object says about it, for use when the relay cannot be reached."""
    state, _, _, remarks = parse_worker_annotations(worker.metadata.annotations)
    conditions = (worker.decode().get("status") or {}).get("conditions") or []
    active = next((condition for condition in conditions if condition.get("type") == "Active"), None)
    connected = active is not None and active.get("status") == "True"
    reason = "" if connected else (active or {}).get("message", "no relay has reported on it yet")
    return WorkerView(
        worker.name, connected, state.value, jobs, reason, capacity_unknown="only the relay knows", remarks=remarks
    )


async def set_worker_state(client: Client, name: str, state: str | None) -> None:
    """Sets the state that an operator wants for a worker (cordoned, draining, lost); None resets it."""
    await get_worker(client, name)
    patch = merge_patch({"metadata": {"annotations": {STATE: state}}})
    await client.patch(await _resource(client), name, patch, field_manager=MANAGER)


async def register_worker(
    client: Client,
    name: str,
    kubeconfig: bytes,
    namespace: str,
    *,
    secret_annotations: Mapping[str, str] | None = None,
    **metadata: Any,
) -> bool:
    """Creates or updates a worker's Secret and MultiKueueCluster; returns whether the worker is new."""
    await ensure_namespace(client, namespace)
    await ensure_crds(client)
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace, "annotations": dict(secret_annotations or {})},
        "data": {KEY: base64.b64encode(kubeconfig).decode()},
    }
    await client.apply(SECRETS, secret, field_manager=MANAGER, force=True)
    resource = await _resource(client)
    source = {"location": name, "locationType": "Secret"}
    spec = {"clusterSource": {"kubeConfig": source}} if resource.version == "v1beta2" else {"kubeConfig": source}
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    before = {each.name for each in await list_workers(client)}
    body = {**kind, "metadata": {"name": name, **metadata}, "spec": spec}
    await client.apply(resource, body, field_manager=MANAGER, force=True)
    return name not in before


async def unregister_worker(client: Client, name: str, namespace: str) -> None:
    """Deletes a worker's MultiKueueCluster, and the Secret of the same name if there is one."""
    await get_worker(client, name)
    await client.delete(await _resource(client), name)
    try:
        await client.delete(SECRETS, name, namespace)
    except NotFound:
        return


def check_kubeconfig(text: bytes) -> str:
    """Why the relay would refuse a kubeconfig; empty if it would accept it."""
    found = from_text(text)
    return "" if isinstance(found, UsableKubeconfig) else found.message


async def worker_connection(client: Client, name: str, namespace: str) -> Connection:
    """The connection to a worker by its registered kubeconfig; raises OperateError."""
    where = location(await get_worker(client, name))
    access = where if isinstance(where, RejectedKubeconfig) else await _access(client, where, namespace)
    if isinstance(access, RejectedKubeconfig):
        raise OperateError(f"worker {name!r} cannot be reached: {access.message}")
    return access.connection


async def _access(client: Client, where: KubeconfigLocation, namespace: str) -> Access:
    if where.in_file:
        return read_foreign(pathlib.Path(where.name), frozenset())
    secret = await find(client, SECRETS, where.name, namespace)
    return secret_access(secret, where.name, namespace, frozenset())
