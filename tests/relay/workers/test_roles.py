"""Workers that let us do no more than they must."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from jobrelay.cluster import Cluster
from jobrelay.kube import Client, Connection, FakeClock, Key
from jobrelay.kube.resource import JOBS, NAMESPACES, ROLEBINDINGS, ROLES
from jobrelay.relay.workers import UsableKubeconfig, WorkerConnection, WorkerSpec
from jobrelay.workloads import JobAdapter
from tests.relay.proofs import known_proofs

from .support import ORIGIN_HERE, Recording, advance, job, running

VERBS = ["get", "list", "watch", "create", "patch", "delete"]


async def _grant(client: Client, namespace: str) -> None:
    metadata = {"name": "relay", "namespace": namespace}
    rules = [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": VERBS}]
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "relay"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "relay"}
    await client.create(NAMESPACES, {"metadata": {"name": namespace}})
    await client.create(ROLES, {"metadata": metadata, "rules": rules})
    await client.create(ROLEBINDINGS, {"metadata": metadata, "roleRef": reference, "subjects": [subject]})


@asynccontextmanager
async def limited(clock: FakeClock, namespace: str) -> AsyncIterator[tuple[WorkerConnection, Client, Recording]]:
    """A link as a user who may only handle Jobs in namespace `team`, with this namespace in the kubeconfig."""
    async with Cluster(controllers="none") as cluster:
        await _grant(cluster.client(), "team")
        seen = Recording(cluster.transport("relay", ["system:authenticated"]))
        access = UsableKubeconfig(Connection("https://w1", namespace), "1")
        options: dict[str, Any] = {
            "resources": [JOBS],
            "pod_owner": JobAdapter().pod_owner,
            "connect": lambda name, connection: seen,
        }
        link = WorkerConnection(
            WorkerSpec("w1", access), proofs=known_proofs(ORIGIN_HERE), clock=clock, random=Random(1), **options
        )
        async with running(link.run()):
            await advance(clock, 2)
            yield link, cluster.client(), seen


async def test_a_role_in_one_namespace_is_enough(clock: FakeClock) -> None:
    async with limited(clock, "team") as (link, outside, _):
        assert link.connected
        assert not link.mirrors.unavailable
        await outside.create(JOBS, job("ours", "team"))
        await advance(clock, 1)
        assert Key("team", "ours") in link.mirrors[JOBS]
        assert link.version is not None
        assert not link.is_self


async def test_room_that_a_role_does_not_show_is_unknown(clock: FakeClock) -> None:
    async with limited(clock, "team") as (link, _, _):
        assert link.facts().capacity.unknown.startswith("its nodes may not be read: it forbids this (403)")


async def test_without_any_right_it_is_not_connected_and_says_so(clock: FakeClock) -> None:
    async with limited(clock, "default") as (link, _, seen):
        assert not link.connected
        assert link.lost_since is not None
        assert link.reason.startswith("it forbids this (403): jobs.batch is forbidden")
        before = len(seen.requests)
        await advance(clock, 60)
        assert len(seen.requests) - before < 12
