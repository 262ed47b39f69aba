"""Fleets whose relay has no more rights than `jobrelay install` and `jobrelay worker join` give it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

from jobrelay.kube import (
    AlreadyExists,
    Client,
    Connection,
    Kubeconfig,
    LeaderElection,
    NotFound,
    SystemClock,
    connect,
    find_connection,
)
from jobrelay.kube.credentials import Credential, StaticCredentials, bearer
from jobrelay.kube.resource import NAMESPACES, SECRETS
from jobrelay.operate.applying import apply, ignore
from jobrelay.operate.copying import source_manifests
from jobrelay.operate.joining import JoinRequest, join
from jobrelay.operate.leaving import LeaveRequest, leave
from jobrelay.operate.management import NAME, Installation, management_manifests
from jobrelay.operate.manifests import resource_of
from jobrelay.relay.copy_rules import CopyRules
from jobrelay.relay.endpoint import ENDPOINT
from jobrelay.relay.gate import MakeGate
from jobrelay.relay.relay import RelayManager, find_origin
from jobrelay.relay.settings import Settings
from jobrelay.relay.workers import ObjectSource, ensure_crds
from jobrelay.relay.workers.tokens import request_token
from tests.relay.fleets import NAMESPACE, QUICK, AnyCluster, Fleet

TEAMS = ("team-a", "team-b")


def way(cluster: AnyCluster) -> Connection:
    """How its administrator reaches a cluster."""
    return find_connection(cluster.kubeconfig)


async def make_namespaces(client: Client, *names: str) -> None:
    for name in names:
        with suppress(AlreadyExists):
            await client.create(NAMESPACES, {"metadata": {"name": name}})


async def join_worker(it: Fleet, worker: str = "worker-1", **asked: Any) -> JoinRequest:
    """Has a cluster of a fleet join it."""
    there = it.workers[worker]
    known: dict[str, Any] = {"namespaces": TEAMS, "relay_namespace": NAMESPACE, "create_namespaces": True}
    joining = JoinRequest(name=worker, **(known | {"origin": await find_origin(it.client)} | asked))
    await join(it.client, there.client(), way(there), joining, ignore)
    return joining


async def leave_worker(it: Fleet, worker: str = "worker-1", origin: str = "") -> list[str]:
    asked = LeaveRequest(worker, NAMESPACE, origin, force=True)
    return await leave(way(it.management), way(it.workers[worker]), asked, ignore)


@asynccontextmanager
async def joined(it: Fleet, **asked: Any) -> AsyncIterator[Fleet]:
    """All clusters of a fleet have joined it, until the end."""
    try:
        for worker in it.workers:
            await join_worker(it, worker, **asked)
        yield it
    finally:
        for worker in it.workers:
            await leave_worker(it, worker, asked.get("origin", ""))


async def worker_kubeconfig(it: Fleet, worker: str = "worker-1") -> bytes:
    """What the relay has to reach a worker with."""
    secret = (await it.client.get(SECRETS, worker, NAMESPACE)).decode()
    return base64.b64decode(secret["data"]["kubeconfig"])


@asynccontextmanager
async def as_relay(it: Fleet, worker: str = "worker-1") -> AsyncIterator[Client]:
    """A client that may do on a worker what the relay may."""
    async with connect(Kubeconfig.inline(await worker_kubeconfig(it, worker)).connection()) as client:
        yield client


async def install(it: Fleet, copies: CopyRules | None = None) -> Connection:
    """Installs everything but the pods and their API; returns how they would reach the management cluster."""
    await ensure_crds(it.client)
    made = [
        each
        for each in management_manifests(Installation(copies=copies or CopyRules()))
        if each["kind"] not in ("Deployment", "APIService")
    ]
    await apply(it.client, made, "management", ignore, dry_run=False)
    token = await request_token(it.client, NAMESPACE, NAME, 3600)
    return replace(way(it.management), credentials=StaticCredentials(Credential(bearer(token))))


async def take_back(it: Fleet, copies: CopyRules | None) -> None:
    """Removes the rights to read what is copied: real clusters outlast a test."""
    for made in source_manifests(copies or CopyRules(), f"{NAME}-copies", (NAMESPACE, NAME)):
        metadata = made["metadata"]
        with suppress(NotFound):
            await it.client.delete(resource_of(made), metadata["name"], metadata.get("namespace"))


@asynccontextmanager
async def installed_relay(
    it: Fleet, gate: MakeGate | None = None, **settings: Any
) -> AsyncIterator[tuple[RelayManager, ObjectSource]]:
    """A relay that runs as the one in the pods would."""
    async with connect(await install(it, settings.get("copies"))) as client:
        source = ObjectSource(client, namespace=NAMESPACE, clock=SystemClock())
        origin = await find_origin(client)
        election = LeaderElection(client, NAME, NAMESPACE, "tests", annotations={ENDPOINT: "http://127.0.0.1:1"})
        relay = RelayManager(
            client,
            source,
            Settings(origin, **settings),
            namespace=NAMESPACE,
            timing=QUICK,
            gate=gate,
            election=election,
        )
        running = asyncio.create_task(relay.run())
        try:
            await relay.registry.wait_ready(10)
            yield relay, source
        finally:
            running.cancel()
            await asyncio.wait({running})
            await take_back(it, settings.get("copies"))
