"""Checks what works on a worker and what is missing, with the relay's own kubeconfig and without changing anything.

Each permission is queried separately, so that a missing one can be named exactly. Dry runs show whether the worker
accepts mirrors, and whether its policy refuses everything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import msgspec

from jobrelay.apimachinery.gojson import UNREADABLE
from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Client, Clock, Connection, KubeError, Object, Request, Resource, StatusError, connect, serves
from jobrelay.kube.discovery import Version
from jobrelay.kube.errors import error_from_response
from jobrelay.kube.resource import EVENTS_CORE, JOBS, NODES, PODS, SECRETS, SERVICEACCOUNTS
from jobrelay.operate.applying import find
from jobrelay.operate.errors import OperateError
from jobrelay.operate.permissions import Permission, describe_permissions, missing_permissions
from jobrelay.operate.probes import is_forbidden, probe_job
from jobrelay.operate.registry import get_worker, worker_connection
from jobrelay.relay.names import RENEW
from jobrelay.relay.workers.spec import served_namespaces
from jobrelay.relay.workers.tokens import read_token
from jobrelay.workloads import load_adapters

__all__ = ["Finding", "check"]

VERBS: Final = "create get list watch patch delete"
OK, LIMITED, MISSING = "ok", "limited", "missing"
_SKEW: Final = 10.0
"""A smaller difference between clocks does not matter to the relay; fencing tolerates 30 seconds."""


class Finding(msgspec.Struct, frozen=True):
    """The result of one check: `ok`, `limited` (works in part), or `missing` (the worker cannot be used)."""

    worker: str
    check: str
    result: str
    detail: str


@dataclass(frozen=True, slots=True)
class _Worker:
    name: str
    origin: str
    client: Client
    namespaces: tuple[str, ...]
    """Those that the worker serves; empty for all."""

    def found(self, check: str, result: str, detail: str) -> Finding:
        return Finding(self.name, check, result, detail)

    async def permitted(
        self, check: str, permissions: Iterable[Permission], detail: str, *, otherwise: str = MISSING
    ) -> Finding:
        """`detail` if the relay has all the permissions, else the result `otherwise` and what is lacking."""
        denied = describe_permissions(await missing_permissions(self.client, permissions))
        return self.found(check, otherwise, f"no permission to {denied}") if denied else self.found(check, OK, detail)


async def check(management: Client, name: str, relay_namespace: str, origin: str, clock: Clock) -> list[Finding]:
    """All checks of one worker. Raises KubeError for the management cluster only; the worker's errors are findings."""
    cluster = await get_worker(management, name)
    try:
        connection = await worker_connection(management, name, relay_namespace)
    except OperateError as error:
        return [Finding(name, "kubeconfig", MISSING, str(error))]
    secret = await find(management, SECRETS, name, relay_namespace)
    async with connect(connection) as client:
        served, _ = served_namespaces(cluster.metadata.annotations)
        worker = _Worker(name, origin, client, served)
        try:
            return [*await _contact(worker, clock), *await _permissions(worker, connection, secret, clock)]
        except KubeError as error:
            return [worker.found("contact", MISSING, str(error))]


async def _contact(worker: _Worker, clock: Clock) -> list[Finding]:
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


def _skew(worker: _Worker, date: str, asked: datetime, answered: datetime) -> Finding:
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


async def _permissions(worker: _Worker, connection: Connection, secret: Object | None, clock: Clock) -> list[Finding]:
    namespaces = worker.namespaces
    if not namespaces and await missing_permissions(worker.client, [Permission("list", JOBS)]):
        namespaces = (connection.namespace,)
    tried = namespaces or (connection.namespace,)
    where = f"in namespaces {', '.join(namespaces)}" if namespaces else "in all namespaces"
    logs = [*_each(PODS, "get list watch", namespaces), *_each(PODS, "get", namespaces, "log")]
    room = [*_each(NODES, "list watch"), *_each(PODS, "list watch")]
    credential = await connection.credentials.current()
    found = await asyncio.gather(
        *(_kind(worker, adapter.resource, namespaces, where) for adapter in load_adapters()),
        worker.permitted("logs", logs, where, otherwise=LIMITED),
        worker.permitted("events", _each(EVENTS_CORE, "list watch", namespaces), where, otherwise=LIMITED),
        worker.permitted("room", room, "nodes and pods are readable", otherwise=LIMITED),
        _token(worker, (credential.authorization or "").removeprefix("Bearer "), secret, clock),
        *(_mirror(worker, namespace) for namespace in tried),
        _policy(worker, tried[0]),
    )
    return list(found)


def _each(resource: Resource, verbs: str, namespaces: Iterable[str] = (), subresource: str = "") -> list[Permission]:
    """Permissions in each of the namespaces, or without any in all."""
    where = tuple(namespaces) or ("",)
    return [Permission(verb, resource, namespace, subresource) for namespace in where for verb in verbs.split()]


async def _kind(worker: _Worker, resource: Resource, namespaces: tuple[str, ...], where: str) -> Finding:
    if not await serves(worker.client, resource):
        return worker.found(str(resource), MISSING, f"the worker does not serve {resource.api_version} {resource.kind}")
    return await worker.permitted(str(resource), _each(resource, VERBS, namespaces), where)


async def _token(worker: _Worker, bearer: str, secret: Object | None, clock: Clock) -> Finding:
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


async def _mirror(worker: _Worker, namespace: str) -> Finding:
    """Whether the worker would accept a plain mirror."""
    check = f"mirror in {namespace}"
    try:
        await worker.client.create(JOBS, probe_job(namespace, worker.origin), dry_run=True)
    except StatusError as error:
        return worker.found(check, MISSING, str(error))
    return worker.found(check, OK, "would be accepted")


async def _policy(worker: _Worker, namespace: str) -> Finding:
    """Whether the worker refuses everything but mirrors."""
    if await is_forbidden(worker.client, probe_job(namespace, worker.origin)):
        return worker.found("policy", LIMITED, f"unknown, since mirrors are refused too in namespace {namespace}")
    privileged = probe_job(namespace, worker.origin, securityContext={"privileged": True})
    probes = {"unmarked Jobs": probe_job(namespace, ""), "privileged pods": privileged}
    allowed = [what for what, job in probes.items() if not await is_forbidden(worker.client, job)]
    if allowed:
        return worker.found("policy", LIMITED, f"the relay's identity may create {' and '.join(allowed)}")
    return worker.found("policy", OK, "only mirrors are admitted, and no privileged pods")
