"""Letting a worker go: everything that `join` made is removed, on the management cluster first.

Each side is done for itself. What cannot be done, because a cluster does not answer or nobody said how to reach it, is named, and
may be done later by the same command.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from jobrelay.fleet.errors import FleetError
from jobrelay.fleet.registry import clusters, unregister
from jobrelay.kube import Client, Connection, KubeError, NotFound, Object, Resource, connect
from jobrelay.kube.resource import NAMESPACES, SECRETS, SERVICEACCOUNTS
from jobrelay.operate.applying import Step, Tell, find, remove
from jobrelay.operate.identity import HOME, IDENTITY, WORKER
from jobrelay.operate.joining import RIGHTS
from jobrelay.operate.manifests import MANAGED_BY
from jobrelay.relay.names import ORIGIN
from jobrelay.relay.relay import find_origin
from jobrelay.workloads import load_adapters

__all__ = ["Leaving", "leave"]


@dataclass(frozen=True, slots=True)
class Leaving:
    """What was asked for."""

    name: str
    relay_namespace: str
    origin: str = ""
    force: bool = False
    dry_run: bool = False


async def leave(management: Connection, worker: Connection | None, asked: Leaving, tell: Tell) -> list[str]:
    """Undoes `join` on both clusters as far as they can be reached; returns what is left, in sentences."""
    left: list[str] = []
    async with connect(management) as home, AsyncExitStack() as stack:
        there = await stack.enter_async_context(connect(worker)) if worker is not None else None
        origin, problem = await _origin(home, there, asked)
        if there is not None and origin and not asked.force and (running := await _still_running(there, origin)):
            raise FleetError(
                f"{len(running)} mirrors still run there: {', '.join(running[:3])}",
                f"`jobrelay worker drain {asked.name}` first, or add --force",
            )
        if problem is None:
            await leave_management(home, asked.name, asked.relay_namespace, tell, dry_run=asked.dry_run)
        else:
            left.append(f"the management cluster keeps MultiKueueCluster and Secret {asked.name}: {problem}")
        if there is None:
            left.append(f"the worker keeps the identity {origin or 'of the relay'} in namespace {HOME}, and its roles")
            return left
        try:
            if origin:
                await leave_worker(there, origin, tell, dry_run=asked.dry_run)
        except KubeError as error:
            left.append(f"the worker keeps the identity {origin} in namespace {HOME}, and its roles: {error}")
    return left


async def _origin(home: Client, there: Client | None, asked: Leaving) -> tuple[str, KubeError | None]:
    """Whose identity is meant, and why the management cluster cannot be asked, if it cannot."""
    problem = None
    try:
        found = await find_origin(home)
    except KubeError as error:
        found, problem = "", error
    if asked.origin or found or there is None:
        return asked.origin or found, problem
    known = await origins(there, asked.name)
    if len(known) > 1:
        raise FleetError(
            f"several management clusters know this worker as {asked.name}", f"--origin one of {', '.join(known)}"
        )
    return (known[0] if known else ""), problem


async def _still_running(there: Client, origin: str) -> list[str]:
    try:
        return await unfinished(there, origin)
    except KubeError:
        return []


async def origins(worker: Client, name: str) -> list[str]:
    """The identities on a cluster that know it by this name."""
    found = await _listed(worker, SERVICEACCOUNTS, HOME, IDENTITY)
    return [obj.metadata.labels[IDENTITY] for obj in found if obj.metadata.annotations.get(WORKER) == name]


async def unfinished(worker: Client, origin: str) -> list[str]:
    """Mirrors that still run on a worker."""
    running = []
    for adapter in load_adapters():
        found = await _listed(worker, adapter.resource, None, f"{ORIGIN}={origin}")
        running += [f"{adapter.resource.kind} {obj.key}" for obj in found if adapter.read(obj).end is None]
    return running


async def leave_management(client: Client, name: str, namespace: str, tell: Tell, *, dry_run: bool) -> None:
    """Removes a worker's object and its Secret."""
    if name in [each.name for each in await clusters(client)]:
        if not dry_run:
            await unregister(client, name, namespace)
        what = f"MultiKueueCluster {name} and its Secret in namespace {namespace}"
        tell(Step("management", "would be deleted" if dry_run else "deleted", what))
        return
    secret = await find(client, SECRETS, name, namespace)
    await remove(client, SECRETS, [secret] if secret else [], "management", tell, dry_run=dry_run)


async def leave_worker(worker: Client, origin: str, tell: Tell, *, dry_run: bool) -> None:
    """Removes an identity: first what gives it rights, then what restricts it, then itself."""
    for resource in RIGHTS:
        held = await _listed(worker, resource, None, f"{IDENTITY}={origin}")
        await remove(worker, resource, held, "worker", tell, dry_run=dry_run)
    accounts = await _listed(worker, SERVICEACCOUNTS, HOME, IDENTITY)
    own = [obj for obj in accounts if obj.name == origin]
    await remove(worker, SERVICEACCOUNTS, own, "worker", tell, dry_run=dry_run)
    home = await find(worker, NAMESPACES, HOME)
    made = home is not None and home.metadata.labels.get(MANAGED_BY) == "jobrelay"
    if home is not None and made and home.metadata.deletion_timestamp is None and len(accounts) == len(own):
        await remove(worker, NAMESPACES, [home], "worker", tell, dry_run=dry_run)


async def _listed(client: Client, resource: Resource, namespace: str | None, selector: str) -> Sequence[Object]:
    """What is there; nothing where the kind is not known."""
    try:
        return (await client.list(resource, namespace, label_selector=selector)).items
    except NotFound:
        return ()
