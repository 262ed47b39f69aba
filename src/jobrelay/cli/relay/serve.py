"""Runs the relay in the foreground, as a candidate for leadership, until a signal arrives.

A replica that loses its leadership becomes a candidate again with a new Relay: what it knew as leader is out of date,
and new caches are filled quickly. The same is done when other workload kinds are described.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import pathlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click
import msgspec

from jobrelay.cli.errors import Failure
from jobrelay.cli.loop import run_until_stopped
from jobrelay.cli.management import SYSTEM_NAMESPACE, failures
from jobrelay.cli.output import print_table
from jobrelay.cli.relay.kinds import KindSource
from jobrelay.cli.relay.tuning import Tuning
from jobrelay.cli.worker_rows import worker_row
from jobrelay.control import Group
from jobrelay.fleet.folder import FleetFolder
from jobrelay.kube import (
    Client,
    Connection,
    Forbidden,
    LeaderElection,
    LeadershipLost,
    SystemClock,
    find_connection,
)
from jobrelay.kube.kubeconfig import default_paths
from jobrelay.kube.leader_election import new_identity
from jobrelay.kube.network import NetworkTransport
from jobrelay.logs import get_logger
from jobrelay.queueing.gate import QueueingGate
from jobrelay.queueing.presence import QueueingPresence
from jobrelay.relay.endpoint import ENDPOINT, RelayEndpoint
from jobrelay.relay.multikueue.dispatching import DispatcherName, Dispatching
from jobrelay.relay.overview import worker_views
from jobrelay.relay.relay import REQUEST_TIMEOUT, RelayManager, find_origin
from jobrelay.relay.settings import Settings
from jobrelay.relay.worker_view import WorkerView
from jobrelay.relay.workers import FlagSource, ObjectSource, WorkerSource, ensure_crds, ensure_namespace
from jobrelay.relay.workers.tasks import until_first

if TYPE_CHECKING:
    from jobrelay.queueing.webhooks.registration import KeptRegistration
    from jobrelay.queueing.webhooks.reviews import AdmissionReviews
    from jobrelay.relay.api.serving import ApiServing

__all__ = ["RelayPlan", "serve_relay"]

log = get_logger(__name__)
_WORKERS_TIMEOUT: Final = 5.0  # how long the ready line waits for workers to be reached
_LEADER_TIMEOUT: Final = 3.0  # how long the ready line waits for the leader to be known


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayPlan:
    """The checked options; `settings` makes the relay's settings from them."""

    kubeconfig: pathlib.Path | None
    context: str | None
    workers: Mapping[str, pathlib.Path] | None
    """Kubeconfigs by worker name; None if workers are MultiKueueCluster objects."""
    tuning: Tuning
    origin: str | None
    namespace: str | None
    dispatcher: str | None
    """How workers are chosen for what Kueue queues; None not to be the controller of MultiKueue's checks."""
    config: str | None
    allow_exec: frozenset[str]
    lease_name: str | None
    """None to lead without a Lease."""
    listen: tuple[str, int]
    api_listen: tuple[str, int] | None
    """Where the API for users is served; None if it is not."""
    api_host: str
    json: bool

    def settings(self, origin: str) -> Settings:
        return Settings(
            origin,
            lost_timeout=self.tuning.worker_lost_timeout,
            keep_finished=self.tuning.keep_finished,
            fencing=self.tuning.fencing,
            lease=self.tuning.fence_lease,
            create_namespaces=self.tuning.create_namespaces,
            copies=self.tuning.copies,
            keep_logs=self.tuning.keep_logs,
            keep_logs_total=self.tuning.keep_logs_total,
            keep_logs_for=self.tuning.keep_logs_for,
        )


class _ReadyLine(msgspec.Struct, frozen=True, rename="camel"):
    """The ready line of `-o json`."""

    ready: bool
    leads: bool
    leader: str
    endpoint: str
    origin: str
    workers: list[WorkerView]


def serve_relay(plan: RelayPlan) -> None:
    """Runs the relay until a signal arrives; raises Failure."""
    with failures(), _noted(plan.kubeconfig):
        connection = find_connection(plan.kubeconfig, plan.context)
        run_until_stopped(_serve(plan, connection))


@contextlib.contextmanager
def _noted(kubeconfig: pathlib.Path | None) -> Iterator[None]:
    """Takes the lock of the fleet whose kubeconfig it is, so that `jobrelay down` finds this relay."""
    fleet = FleetFolder(kubeconfig.absolute().parent) if kubeconfig is not None else None
    if fleet is None or not fleet.exists:
        yield
        return
    fleet.relay_lock.take()  # only the first of several replicas gets it
    try:
        yield
    finally:
        fleet.relay_lock.release()


async def _serve(plan: RelayPlan, connection: Connection) -> None:
    identity = new_identity()
    host, port = plan.listen
    endpoint = RelayEndpoint(host, port, os.environ.get("POD_IP", ""))
    async with NetworkTransport(connection) as transport:
        client = Client(transport, timeout=REQUEST_TIMEOUT)
        origin = plan.origin or await find_origin(client)
        namespace = plan.namespace or (connection.namespace if _in_pod(plan) else SYSTEM_NAMESPACE)
        await _prepare(client, plan, namespace)
        try:
            await endpoint.__aenter__()
        except OSError as error:
            raise Failure(f"--listen {host}:{port} cannot be used: {error.strerror}", "choose another port") from error
        api = await _serve_api(plan, client, connection, namespace, endpoint)
        kinds = KindSource(client, namespace, plan.tuning.given_kinds(), identity)
        queueing = QueueingPresence(client, plan.tuning.queueing, plan.tuning.queueing_config, SystemClock())
        await queueing.prepare()
        following = asyncio.create_task(until_first(kinds.run(), queueing.run()))
        try:
            first = True
            while True:
                await _candidacy(plan, client, origin, namespace, identity, endpoint, kinds, queueing, api, first=first)
                first = False
                gc.collect()  # the old relay's objects form cycles and would stay in memory beside the new one's
        finally:
            following.cancel()
            await asyncio.wait({following})
            if api is not None:
                await api.__aexit__()
            await endpoint.__aexit__()


async def _serve_api(
    plan: RelayPlan, client: Client, connection: Connection, namespace: str, endpoint: RelayEndpoint
) -> ApiServing | None:
    """Serves the API for users and the dashboard, if that is wanted."""
    if plan.api_listen is None:
        return None
    from jobrelay.queueing.webhooks.serving import webhook_routes
    from jobrelay.relay.api.serving import ApiServing
    from jobrelay.web.serving import BASE, relay_dashboard

    host, port = plan.api_listen
    try:
        return await ApiServing(
            client,
            endpoint.ready_relay,
            plan.api_listen,
            namespace=namespace,
            host=plan.api_host,
            routes=webhook_routes(lambda: _reviews(endpoint)),
            pages=(BASE, relay_dashboard(connection, SystemClock())),
        ).__aenter__()
    except OSError as error:
        raise Failure(f"--api-listen {host}:{port} cannot be used: {error.strerror}", "choose another port") from error


def _reviews(endpoint: RelayEndpoint) -> AdmissionReviews | None:
    """What answers webhooks of queues; None while the relay is not ready, or does not admit."""
    relay = endpoint.ready_relay()
    return relay.gate.reviews if relay is not None and isinstance(relay.gate, QueueingGate) else None


def _in_pod(plan: RelayPlan) -> bool:
    """Whether the relay runs in a pod of the management cluster and uses its service account."""
    files = [plan.kubeconfig] if plan.kubeconfig is not None else default_paths()
    return not any(path.exists() for path in files)


async def _prepare(client: Client, plan: RelayPlan, namespace: str) -> None:
    """Creates what the relay needs on the management cluster; without permission, it is assumed to be installed."""
    try:
        await ensure_namespace(client, namespace)
        if plan.workers is None:
            await ensure_crds(client)
    except Forbidden as error:
        log.info("no permission to check the namespace and the CRDs of workers", reason=str(error))


async def _candidacy(
    plan: RelayPlan,
    client: Client,
    origin: str,
    namespace: str,
    identity: str,
    endpoint: RelayEndpoint,
    kinds: KindSource,
    queueing: QueueingPresence,
    api: ApiServing | None,
    *,
    first: bool,
) -> None:
    """Stands by, leads, and returns when the leadership is lost, or with other kinds, or when queues come or go."""
    clock = SystemClock()
    election = None
    if plan.lease_name is not None:
        annotations = {ENDPOINT: endpoint.url}
        election = LeaderElection(client, plan.lease_name, namespace, identity, clock=clock, annotations=annotations)
    gate = await queueing.gate()
    relay = RelayManager(
        client,
        _source(plan, client, namespace),
        plan.settings(origin),
        namespace=namespace,
        adapters=await kinds.adapters(),
        policy=plan.tuning.placement,
        gate=gate,
        election=election,
        identity=identity,
        clock=clock,
        multikueue=None
        if gate is not None or plan.dispatcher is None
        else Dispatching(DispatcherName(plan.dispatcher)),
    )
    if api is not None:
        relay.manager.add(api.registration(), Group.LEADER)
        for registration in _webhooks(relay, client, api, admits=gate is not None):
            relay.manager.add(registration, Group.LEADER)
    printing = asyncio.create_task(_print_ready(relay, election, endpoint, plan)) if first else None
    try:
        with endpoint.serving(relay):
            await _run_until_changed(relay, kinds, queueing)
    except LeadershipLost as error:
        log.warning("lost leadership; standing by", reason=str(error))
    finally:
        if printing is not None:
            printing.cancel()
            await asyncio.wait({printing})


def _webhooks(relay: RelayManager, client: Client, api: ApiServing, *, admits: bool) -> Iterator[KeptRegistration]:
    from jobrelay.queueing.webhooks.converting import ConversionRegistration
    from jobrelay.queueing.webhooks.registration import WebhookRegistration

    queued = [kind.adapter.resource for kind in relay.state.kinds.values()]
    yield WebhookRegistration(client, api.registered, queued, admits=admits, clock=SystemClock())
    yield ConversionRegistration(client, api.registered, clock=SystemClock())


async def _run_until_changed(relay: RelayManager, kinds: KindSource, queueing: QueueingPresence) -> None:
    running, *changes = (
        asyncio.create_task(each) for each in (relay.run(), kinds.changed.wait(), queueing.changed.wait())
    )
    tasks = {running, *changes}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopped = not running.done()
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    if stopped:
        log.info("workload kinds or queues have come or gone; starting again with what there is now")
    else:
        running.result()


def _source(plan: RelayPlan, client: Client, namespace: str) -> WorkerSource:
    if plan.workers is not None:
        return FlagSource(plan.workers)
    return ObjectSource(
        client, namespace=namespace, clock=SystemClock(), config=plan.config, allow_exec=plan.allow_exec
    )


async def _print_ready(
    relay: RelayManager, election: LeaderElection | None, endpoint: RelayEndpoint, plan: RelayPlan
) -> None:
    await relay.manager.ready.wait()
    await relay.registry.wait_ready(_WORKERS_TIMEOUT)
    if election is not None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LEADER_TIMEOUT):
                await election.known.wait()
    leader = election.leader if election is not None else ""
    views = worker_views(relay)
    if plan.json:
        ready = _ReadyLine(True, relay.leads(), leader, endpoint.url, relay.state.settings.origin, views)
        click.echo(msgspec.json.encode(ready))
        return
    click.echo(f"relay ready {endpoint.url}" + ("" if relay.leads() else f" (standing by: {leader or 'nobody'} leads)"))
    if views:
        print_table([worker_row(view) for view in views], ["name", "state", "jobs", "reason"])
    else:
        click.echo("no workers are registered yet; `jobrelay worker add NAME KUBECONFIG` registers one", err=True)
