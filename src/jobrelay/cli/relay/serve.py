"""Running the relay in the foreground, as a candidate for the lead until a signal comes.

A replica that loses the lead becomes a candidate again, with everything built anew: what it knew as leader is of no use to
it, and its caches are filled again in a moment.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import secrets
import socket
from typing import Final

import click
import msgspec
import structlog

from jobrelay.cli.errors import Failure
from jobrelay.cli.loop import run_until_stopped
from jobrelay.cli.management import SYSTEM_NAMESPACE, failure
from jobrelay.cli.output import print_table
from jobrelay.cli.relay.plan import Plan
from jobrelay.cli.workers import worker_row
from jobrelay.kube import (
    Client,
    Connection,
    Forbidden,
    KubeError,
    LeaderElection,
    LeadershipLost,
    SystemClock,
    find_connection,
)
from jobrelay.kube.kubeconfig import default_paths
from jobrelay.kube.network import NetworkTransport
from jobrelay.relay.endpoint import ENDPOINT, Endpoint
from jobrelay.relay.overview import WorkerView, worker_views
from jobrelay.relay.relay import REQUEST_TIMEOUT, Relay, find_origin
from jobrelay.relay.workers import FlagSource, ObjectSource, WorkerSource, ensure_crds, ensure_namespace

__all__ = ["serve_relay"]

log = structlog.get_logger(__name__)
_FAIR_CHANCE: Final = 5.0  # seconds for workers to be reached before the relay calls itself ready
_LEAD_KNOWN: Final = 3.0  # seconds for it to turn out who leads


class _Ready(msgspec.Struct, frozen=True, rename="camel"):
    """The ready line for programs."""

    ready: bool
    leads: bool
    leader: str
    endpoint: str
    origin: str
    workers: list[WorkerView]


def serve_relay(plan: Plan) -> None:
    """Runs the relay until a signal comes; raises Failure."""
    try:
        connection = find_connection(plan.kubeconfig, plan.context)
        run_until_stopped(_serve(plan, connection))
    except KubeError as error:
        raise failure(error) from error


async def _serve(plan: Plan, connection: Connection) -> None:
    identity = f"{socket.gethostname()}_{secrets.token_hex(4)}"
    host, port = plan.listen
    endpoint = Endpoint(host, port, os.environ.get("POD_IP", ""))
    async with NetworkTransport(connection) as transport:
        client = Client(transport, timeout=REQUEST_TIMEOUT)
        origin = plan.origin or await find_origin(client)
        namespace = plan.namespace or (connection.namespace if _in_pod(plan) else SYSTEM_NAMESPACE)
        await _prepare(client, plan, namespace)
        try:
            await endpoint.__aenter__()
        except OSError as error:
            raise Failure(f"--listen {host}:{port} cannot be used: {error.strerror}", "choose another port") from error
        try:
            first = True
            while True:
                await _candidacy(plan, client, origin, namespace, identity, endpoint, first=first)
                first = False
                gc.collect()  # all that the last one knew hangs together, and would stay beside what the next one learns
        finally:
            await endpoint.__aexit__()


def _in_pod(plan: Plan) -> bool:
    """Whether the management cluster is the one that this runs in, reached by the pod's service account."""
    files = [plan.kubeconfig] if plan.kubeconfig is not None else default_paths()
    return not any(path.exists() for path in files)


async def _prepare(client: Client, plan: Plan, namespace: str) -> None:
    """What the relay needs on the management cluster; where it may not look, an operator has seen to it."""
    try:
        await ensure_namespace(client, namespace)
        if plan.workers is None:
            await ensure_crds(client)
    except Forbidden as error:
        log.info("not checked whether all is there", reason=str(error))


async def _candidacy(
    plan: Plan, client: Client, origin: str, namespace: str, identity: str, endpoint: Endpoint, *, first: bool
) -> None:
    """Stands by, leads, and returns when the lead is lost."""
    clock = SystemClock()
    election = None
    if plan.lease_name is not None:
        told = {ENDPOINT: endpoint.url}
        election = LeaderElection(client, plan.lease_name, namespace, identity, clock=clock, annotations=told)
    relay = Relay(
        client,
        _source(plan, client, namespace),
        plan.settings(origin),
        namespace=namespace,
        policy=plan.tuning.placement,
        election=election,
        identity=identity,
        clock=clock,
    )
    endpoint.relay = relay
    saying = asyncio.create_task(_say_ready(relay, election, endpoint, plan)) if first else None
    try:
        await relay.run()
    except LeadershipLost as error:
        log.warning("the lead is lost; standing by", reason=str(error))
    finally:
        endpoint.relay = None
        if saying is not None:
            saying.cancel()
            await asyncio.wait({saying})


def _source(plan: Plan, client: Client, namespace: str) -> WorkerSource:
    if plan.workers is not None:
        return FlagSource(plan.workers)
    return ObjectSource(
        client, namespace=namespace, clock=SystemClock(), config=plan.config, allow_exec=plan.allow_exec
    )


async def _say_ready(relay: Relay, election: LeaderElection | None, endpoint: Endpoint, plan: Plan) -> None:
    await relay.manager.ready.wait()
    await relay.registry.wait_ready(_FAIR_CHANCE)
    if election is not None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LEAD_KNOWN):
                await election.known.wait()
    leader = election.leader if election is not None else ""
    views = worker_views(relay)
    if plan.json:
        ready = _Ready(True, relay.leads(), leader, endpoint.url, relay.state.settings.origin, views)
        click.echo(msgspec.json.encode(ready))
        return
    click.echo(f"relay ready {endpoint.url}" + ("" if relay.leads() else f" (standing by: {leader or 'nobody'} leads)"))
    if views:
        print_table([worker_row(view) for view in views], ["name", "state", "jobs", "reason"])
    else:
        click.echo("no workers are registered yet: `jobrelay worker add NAME KUBECONFIG` does that", err=True)
