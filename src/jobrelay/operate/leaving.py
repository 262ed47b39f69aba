"""Removes a worker: everything that `join` created, first on the management cluster, then on the worker.

The two clusters are handled independently. Whatever cannot be removed, because a cluster does not answer or no
kubeconfig was given for it, is returned, and the same command can remove it later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass

from jobrelay.kube import Client, Connection, KubeError, NotFound, Object, Resource, connect
from jobrelay.kube.resource import NAMESPACES, SECRETS, SERVICEACCOUNTS
from jobrelay.operate.applying import ReportStep, Step, find, remove
from jobrelay.operate.errors import OperateError
from jobrelay.operate.identity import HOME, IDENTITY, WORKER
from jobrelay.operate.joining import PERMISSION_KINDS
from jobrelay.operate.kinds import relay_adapters
from jobrelay.operate.manifests import MANAGED_BY
from jobrelay.operate.registry import list_workers, unregister_worker
from jobrelay.relay.relay import find_origin
from jobrelay.workloads import Adapter, load_adapters
from jobrelay.workloads.names import ORIGIN

__all__ = ["LeaveRequest", "leave"]


@dataclass(frozen=True, slots=True)
class LeaveRequest:
    """Which worker leaves; `force` removes it even while mirrors run there."""

    name: str
    relay_namespace: str
    origin: str = ""
    force: bool = False
    dry_run: bool = False


async def leave(
    management: Connection, worker: Connection | None, request: LeaveRequest, report: ReportStep
) -> list[str]:
    """Undoes `join` on the clusters that can be reached; returns what remains, in sentences."""
    remains: list[str] = []
    async with connect(management) as home, AsyncExitStack() as stack:
        there = await stack.enter_async_context(connect(worker)) if worker is not None else None
        origin, problem = await _origin(home, there, request)
        running: list[str] = []
        if there is not None and origin and not request.force:
            running = await _unfinished(there, origin, await _adapters(home, request))
        if running:
            raise OperateError(
                f"{len(running)} mirrors still run on the worker: {', '.join(running[:3])}",
                f"run `jobrelay worker drain {request.name}` first, or add --force",
            )
        if problem is None:
            await _leave_management(home, request, report)
        else:
            remains.append(f"the management cluster keeps MultiKueueCluster and Secret {request.name}: {problem}")
        identity = f"the worker keeps the identity {origin or 'of the relay'} in namespace {HOME}, and its roles"
        if there is None:
            return [*remains, identity]
        try:
            if origin:
                await _leave_worker(there, origin, report, dry_run=request.dry_run)
        except KubeError as error:
            remains.append(f"{identity}: {error}")
    return remains


async def _origin(home: Client, there: Client | None, request: LeaveRequest) -> tuple[str, KubeError | None]:
    """The origin that names the identity, and the error of the management cluster if it could not be asked."""
    problem = None
    try:
        found = await find_origin(home)
    except KubeError as error:
        found, problem = "", error
    if request.origin or found or there is None:
        return request.origin or found, problem
    known = await _origins(there, request.name)
    if len(known) > 1:
        raise OperateError(
            f"several management clusters know this worker as {request.name}",
            f"choose one of them by --origin: {', '.join(known)}",
        )
    return (known[0] if known else ""), problem


async def _origins(worker: Client, name: str) -> list[str]:
    """The origins of the identities on a cluster that know it as this worker."""
    found = await _listed(worker, SERVICEACCOUNTS, HOME, IDENTITY)
    return [obj.metadata.labels[IDENTITY] for obj in found if obj.metadata.annotations.get(WORKER) == name]


async def _adapters(home: Client, request: LeaveRequest) -> Sequence[Adapter]:
    """The adapters of the relay's kinds; those of this installation if the management cluster does not answer."""
    try:
        return await relay_adapters(home, request.relay_namespace)
    except KubeError:
        return load_adapters()


async def _unfinished(worker: Client, origin: str, adapters: Iterable[Adapter]) -> list[str]:
    """The mirrors on a worker that have not finished, of those kinds that it can be asked for.

    What has an owner that controls it is not a mirror, but a child that inherited its label.
    """
    running = []
    for adapter in adapters:
        with suppress(KubeError):
            found = await _listed(worker, adapter.resource, None, f"{ORIGIN}={origin}")
            mirrors = [obj for obj in found if obj.metadata.controller is None]
            running += [f"{adapter.resource.kind} {obj.key}" for obj in mirrors if adapter.read(obj).end is None]
    return running


async def _leave_management(client: Client, request: LeaveRequest, report: ReportStep) -> None:
    """Deletes a worker's MultiKueueCluster and its Secret."""
    name, namespace, dry_run = request.name, request.relay_namespace, request.dry_run
    if name in [each.name for each in await list_workers(client)]:
        if not dry_run:
            await unregister_worker(client, name, namespace)
        what = f"MultiKueueCluster {name} and its Secret in namespace {namespace}"
        report(Step("management", "would be deleted" if dry_run else "deleted", what))
        return
    secret = await find(client, SECRETS, name, namespace)
    await remove(client, SECRETS, [secret] if secret else [], "management", report, dry_run=dry_run)


async def _leave_worker(worker: Client, origin: str, report: ReportStep, *, dry_run: bool) -> None:
    """Deletes an identity: first its permissions, then the policy that restricts it, then the account itself."""
    for resource in PERMISSION_KINDS:
        held = await _listed(worker, resource, None, f"{IDENTITY}={origin}")
        await remove(worker, resource, held, "worker", report, dry_run=dry_run)
    accounts = await _listed(worker, SERVICEACCOUNTS, HOME, IDENTITY)
    own = [obj for obj in accounts if obj.name == origin]
    await remove(worker, SERVICEACCOUNTS, own, "worker", report, dry_run=dry_run)
    home = await find(worker, NAMESPACES, HOME)
    ours = home is not None and home.metadata.labels.get(MANAGED_BY) == "jobrelay"
    if home is not None and ours and home.metadata.deletion_timestamp is None and len(accounts) == len(own):
        await remove(worker, NAMESPACES, [home], "worker", report, dry_run=dry_run)


async def _listed(client: Client, resource: Resource, namespace: str | None, selector: str) -> Sequence[Object]:
    """The objects that match; none if the cluster does not serve their kind."""
    try:
        return (await client.list(resource, namespace, label_selector=selector)).items
    except NotFound:
        return ()
