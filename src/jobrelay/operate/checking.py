"""Checks what works on a worker and what is missing, with the relay's own kubeconfig and without changing anything.

Each permission is queried separately, so that a missing one can be named exactly. Dry runs show whether the worker
accepts mirrors, and whether its policy refuses everything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import msgspec

from jobrelay.apimachinery.gojson import UNREADABLE
from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Client, Clock, Connection, KubeError, Object, Request, Resource, StatusError, connect
from jobrelay.kube.discovery import Version
from jobrelay.kube.errors import error_from_response
from jobrelay.kube.resource import EVENTS_CORE, JOBS, NODES, PODS, SECRETS, SERVICEACCOUNTS
from jobrelay.operate.applying import find
from jobrelay.operate.errors import OperateError
from jobrelay.operate.findings import LIMITED, MISSING, OK, CheckedWorker, Finding, each_verb
from jobrelay.operate.kind_checks import check_copying, check_kind, copied_kinds
from jobrelay.operate.kinds import served_adapters
from jobrelay.operate.permissions import Permission, missing_permissions
from jobrelay.operate.probes import is_forbidden, probe_job
from jobrelay.operate.registry import get_worker, worker_connection
from jobrelay.relay.copy_rules import CopyRules
from jobrelay.relay.names import RENEW
from jobrelay.relay.workers.spec import served_namespaces
from jobrelay.relay.workers.tokens import read_token
from jobrelay.workloads import Adapter

__all__ = ["CheckRequest", "check"]

_SKEW: Final = 10.0
"""A smaller difference between clocks does not matter to the relay; fencing tolerates 30 seconds."""


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """Which worker is checked, and what the relay is to do there."""

    name: str
    relay_namespace: str
    origin: str
    adapters: Sequence[Adapter]
    copies: CopyRules = field(default_factory=CopyRules)


async def check(management: Client, request: CheckRequest, clock: Clock) -> list[Finding]:
    """All checks of one worker. Raises KubeError for the management cluster only; the worker's errors are findings."""
    name, namespace = request.name, request.relay_namespace
    cluster = await get_worker(management, name)
    try:
        connection = await worker_connection(management, name, namespace)
    except OperateError as error:
        return [Finding(name, "kubeconfig", MISSING, str(error))]
    secret = await find(management, SECRETS, name, namespace)
    async with connect(connection) as client:
        served, _ = served_namespaces(cluster.metadata.annotations)
        worker = CheckedWorker(name, request.origin, client, served)
        kinds = [adapter.resource for adapter in await served_adapters(management, request.adapters)]
        try:
            return [
                *await _contact(worker, clock),
                *await _permissions(worker, connection, secret, kinds, clock),
                *await asyncio.gather(*(check_copying(worker, *each) for each in copied_kinds(worker, request.copies))),
            ]
        except KubeError as error:
            return [worker.found("contact", MISSING, str(error))]


async def _contact(worker: CheckedWorker, clock: Clock) -> list[Finding]:
    asked = clock.now()
    async with await worker.client.transport.send(Request("GET", "/version", {"Accept": "application/json"})) as answer:
        if answer.status >= 300:
            raise await error_from_response(answer)
        raw = await answer.read()
        date = answer.headers.get("Date", "")
    try:
        version = msgspec.json.decode(raw, type=Version).git_version
    except UNREADABLE:
        version = "of an unknown version"
    return [worker.found("contact", OK, f"Kubernetes {version}"), _skew(worker, date, asked, clock.now())]


def _skew(worker: CheckedWorker, date: str, asked: datetime, answered: datetime) -> Finding:
    """Compares the Date header, which has whole seconds, with our clock before and after the request."""
    try:
        there = parsedate_to_datetime(date)
    except ValueError:
        return worker.found("clock", LIMITED, "its answers have no valid Date header")
    there = there if there.tzinfo else there.replace(tzinfo=UTC)
    ahead = (there - answered).total_seconds()
    behind = (asked - there).total_seconds() - 1.0
    off = max(ahead, behind, 0.0)
    if off <= _SKEW:
        return worker.found("clock", OK, "in step with this machine")
    return worker.found("clock", LIMITED, f"{off:.0f} s {'ahead' if ahead > behind else 'behind'}")


async def _permissions(
    worker: CheckedWorker, connection: Connection, secret: Object | None, kinds: Iterable[Resource], clock: Clock
) -> list[Finding]:
    namespaces = worker.namespaces
    if not namespaces and await missing_permissions(worker.client, [Permission("list", JOBS)]):
        namespaces = (connection.namespace,)
    tried = namespaces or (connection.namespace,)
    where = f"in namespaces {', '.join(namespaces)}" if namespaces else "in all namespaces"
    logs = [*each_verb(PODS, "get list watch", namespaces), *each_verb(PODS, "get", namespaces, "log")]
    room = [*each_verb(NODES, "list watch"), *each_verb(PODS, "list watch")]
    credential = await connection.credentials.current()
    found = await asyncio.gather(
        *(check_kind(worker, kind, namespaces, where) for kind in kinds),
        worker.permitted("logs", logs, where, otherwise=LIMITED),
        worker.permitted("events", each_verb(EVENTS_CORE, "list watch", namespaces), where, otherwise=LIMITED),
        worker.permitted("room", room, "nodes and pods are readable", otherwise=LIMITED),
        _token(worker, (credential.authorization or "").removeprefix("Bearer "), secret, clock),
        *(_mirror(worker, namespace) for namespace in tried),
        _policy(worker, tried[0]),
    )
    return list(found)


async def _token(worker: CheckedWorker, bearer: str, secret: Object | None, clock: Clock) -> Finding:
    token = read_token(bearer)
    if token is None:
        return worker.found("token", OK, "other credentials, which the relay does not renew")
    expiry = f"expires at {format_time(token.expires)}"
    if token.expires <= clock.now():
        return worker.found("token", MISSING, f"expired at {format_time(token.expires)}")
    if secret is None or secret.metadata.annotations.get(RENEW) != "true":
        return worker.found("token", LIMITED, f"{expiry}, and its Secret does not ask the relay to renew it")
    needed = Permission("create", SERVICEACCOUNTS, token.namespace, "token", token.account)
    return await worker.permitted("token", [needed], f"{expiry}; the relay renews it")


async def _mirror(worker: CheckedWorker, namespace: str) -> Finding:
    """Whether the worker would accept a plain mirror."""
    check = f"mirror in {namespace}"
    try:
        await worker.client.create(JOBS, probe_job(namespace, worker.origin), dry_run=True)
    except StatusError as error:
        return worker.found(check, MISSING, str(error))
    return worker.found(check, OK, "would be accepted")


async def _policy(worker: CheckedWorker, namespace: str) -> Finding:
    """Whether the worker refuses everything but mirrors."""
    if await is_forbidden(worker.client, probe_job(namespace, worker.origin)):
        return worker.found("policy", LIMITED, f"unknown, since mirrors are refused too in namespace {namespace}")
    privileged = probe_job(namespace, worker.origin, securityContext={"privileged": True})
    probes = {"unmarked Jobs": probe_job(namespace, ""), "privileged pods": privileged}
    allowed = [what for what, job in probes.items() if not await is_forbidden(worker.client, job)]
    if allowed:
        return worker.found("policy", LIMITED, f"the relay's identity may create {' and '.join(allowed)}")
    return worker.found("policy", OK, "only mirrors are admitted, and no privileged pods")
