"""What works on a worker and what is missing, found out as the relay itself: by its kubeconfig, without changing anything.

Rights are asked for one by one, so that what is missing can be named exactly. What the worker would say to a mirror, and whether
its policy keeps everything else out, is tried by dry runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import msgspec

from jobrelay.apimachinery.times import format_time
from jobrelay.fleet.errors import FleetError
from jobrelay.fleet.registry import get_cluster, worker_connection
from jobrelay.kube import (
    Client,
    Clock,
    Connection,
    KubeError,
    Object,
    Request,
    Resource,
    StatusError,
    connect,
    serves,
)
from jobrelay.kube.discovery import Version
from jobrelay.kube.errors import error_from_response
from jobrelay.kube.resource import EVENTS_CORE, JOBS, NODES, PODS, SECRETS, SERVICEACCOUNTS
from jobrelay.operate.applying import find
from jobrelay.operate.rights import Right, listed, missing
from jobrelay.operate.trials import refused, trial
from jobrelay.relay.names import RENEW
from jobrelay.relay.workers.spec import served_namespaces
from jobrelay.relay.workers.tokens import ServiceAccountToken, read_token
from jobrelay.workloads import load_adapters

__all__ = ["Finding", "check"]

VERBS: Final = ("create", "get", "list", "watch", "patch", "delete")
OK, LIMITED, MISSING = "ok", "limited", "missing"
_SKEW: Final = 10.0
"""Clocks that differ by less are the same to the relay; fencing allows for 30 seconds."""


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at. `limited` works, but not all of it; `missing` keeps the worker from its work."""

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
    """Empty for all."""

    def found(self, check: str, result: str, detail: str) -> Finding:
        return Finding(self.name, check, result, detail)

    def judged(self, check: str, lacking: Iterable[Right], good: str, *, needed: bool = True) -> Finding:
        told = listed(lacking)
        return self.found(
            check, (MISSING if needed else LIMITED) if told else OK, f"no right to {told}" if told else good
        )


async def check(management: Client, name: str, relay_namespace: str, origin: str, clock: Clock) -> list[Finding]:
    """Everything about one worker; raises KubeError if the management cluster fails, never because of the worker."""
    cluster = await get_cluster(management, name)
    try:
        way = await worker_connection(management, name, relay_namespace)
    except FleetError as error:
        return [Finding(name, "kubeconfig", MISSING, str(error))]
    secret = await find(management, SECRETS, name, relay_namespace)
    async with connect(way) as client:
        served, _ = served_namespaces(cluster.metadata.annotations)
        worker = _Worker(name, origin, client, served)
        try:
            return [*await _contact(worker, clock), *await _rights(worker, way, secret, clock)]
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
    except msgspec.DecodeError:
        version = "of an unknown version"
    return [worker.found("contact", OK, f"Kubernetes {version}"), _skew(worker, date, asked, clock.now())]


def _skew(worker: _Worker, date: str, asked: datetime, answered: datetime) -> Finding:
    """The server tells its time in whole seconds, at some moment between question and answer."""
    try:
        there = parsedate_to_datetime(date)
    except ValueError:
        return worker.found("clock", LIMITED, "it does not tell its time")
    there = there if there.tzinfo else there.replace(tzinfo=UTC)
    ahead = (there - answered).total_seconds()
    behind = (asked - there).total_seconds() - 1.0
    off = max(ahead, behind, 0.0)
    if off <= _SKEW:
        return worker.found("clock", OK, "as here")
    return worker.found("clock", LIMITED, f"{off:.0f} s {'ahead' if ahead > behind else 'behind'}")


async def _rights(worker: _Worker, way: Connection, secret: Object | None, clock: Clock) -> list[Finding]:
    places = worker.namespaces
    if not places and await missing(worker.client, [Right("list", JOBS)]):
        places = (way.namespace,)
    found = await asyncio.gather(
        *(_kind(worker, adapter.resource, places) for adapter in load_adapters()),
        _pods(worker, places),
        _events(worker, places),
        _room(worker),
        _token(worker, await _bearer(way), secret, clock),
        *(_mirror(worker, place) for place in places or (way.namespace,)),
        _policy(worker, (places or (way.namespace,))[0]),
    )
    return list(found)


async def _kind(worker: _Worker, resource: Resource, places: tuple[str, ...]) -> Finding:
    if not await serves(worker.client, resource):
        return worker.found(str(resource), MISSING, f"the worker does not have {resource.api_version} {resource.kind}")
    rights = [Right(verb, resource, place) for place in places or ("",) for verb in VERBS]
    return worker.judged(str(resource), await missing(worker.client, rights), _where(places))


def _where(places: tuple[str, ...]) -> str:
    return f"in namespaces {', '.join(places)}" if places else "in all namespaces"


async def _pods(worker: _Worker, places: tuple[str, ...]) -> Finding:
    """For `jobrelay logs`."""
    rights = [Right(verb, PODS, place) for place in places or ("",) for verb in ("get", "list", "watch")]
    rights += [Right("get", PODS, place, "log") for place in places or ("",)]
    return worker.judged("logs", await missing(worker.client, rights), _where(places), needed=False)


async def _events(worker: _Worker, places: tuple[str, ...]) -> Finding:
    rights = [Right(verb, EVENTS_CORE, place) for place in places or ("",) for verb in ("list", "watch")]
    return worker.judged("events", await missing(worker.client, rights), _where(places), needed=False)


async def _room(worker: _Worker) -> Finding:
    rights = [Right(verb, resource) for resource in (NODES, PODS) for verb in ("list", "watch")]
    return worker.judged("room", await missing(worker.client, rights), "nodes and pods are readable", needed=False)


async def _bearer(way: Connection) -> str:
    credential = await way.credentials.current()
    return (credential.authorization or "").removeprefix("Bearer ")


async def _token(worker: _Worker, bearer: str, secret: Object | None, clock: Clock) -> Finding:
    token = read_token(bearer)
    if token is None:
        return worker.found("token", OK, "other credentials, which the relay does not renew")
    ends = f"ends at {format_time(token.expires)}"
    if token.expires <= clock.now():
        return worker.found("token", MISSING, ends)
    if secret is None or secret.metadata.annotations.get(RENEW) != "true":
        return worker.found("token", LIMITED, f"{ends}, and the relay is not asked to renew it")
    return await _renewable(worker, token, ends)


async def _renewable(worker: _Worker, token: ServiceAccountToken, ends: str) -> Finding:
    right = Right("create", SERVICEACCOUNTS, token.namespace, "token", token.account)
    return worker.judged("token", await missing(worker.client, [right]), f"{ends}; the relay renews it")


async def _mirror(worker: _Worker, place: str) -> Finding:
    """What the worker would say to a plain mirror."""
    check = f"mirror in {place}"
    try:
        await worker.client.create(JOBS, trial(place, worker.origin), dry_run=True)
    except StatusError as error:
        return worker.found(check, MISSING, str(error))
    return worker.found(check, OK, "would be accepted")


async def _policy(worker: _Worker, place: str) -> Finding:
    """Whether anything but a mirror is kept out."""
    if await refused(worker.client, trial(place, worker.origin)):
        return worker.found("policy", LIMITED, f"not known, since not even mirrors may be created in namespace {place}")
    unmarked = await refused(worker.client, trial(place, ""))
    privileged = await refused(worker.client, trial(place, worker.origin, securityContext={"privileged": True}))
    open_to = [what for what, closed in (("unmarked Jobs", unmarked), ("privileged pods", privileged)) if not closed]
    if open_to:
        return worker.found("policy", LIMITED, f"the relay's identity may create {' and '.join(open_to)}")
    return worker.found("policy", OK, "nothing but mirrors, and no privileged pods")
