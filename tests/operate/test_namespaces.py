"""Workers that serve some namespaces only."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from jobrelay.cluster import Cluster
from jobrelay.kube import Client, Connection, FakeClock, Key
from jobrelay.kube.resource import JOBS, NAMESPACES, ROLEBINDINGS, ROLES
from jobrelay.relay.model import State
from jobrelay.relay.names import NAMESPACES as SERVES
from jobrelay.relay.original_decision import CommitAssignment
from jobrelay.relay.reconcile_mirror import reconcile_mirror
from jobrelay.relay.reconcile_original import reconcile_original
from jobrelay.relay.workers import UsableKubeconfig, WorkerConnection, WorkerSpec
from jobrelay.relay.workers.spec import served_namespaces
from jobrelay.workloads import JobAdapter
from tests.relay.proofs import known_proofs
from tests.relay.snapshots import job as original
from tests.relay.snapshots import mirror, snapshot, worker
from tests.relay.snapshots import running as running_status
from tests.relay.workers.support import ORIGIN_HERE, Recording, advance, job, running

VERBS = ["get", "list", "watch", "create", "patch", "delete"]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


async def _grant(client: Client, namespace: str) -> None:
    metadata = {"name": "relay", "namespace": namespace}
    rules = [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": VERBS}]
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "relay"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "relay"}
    await client.create(ROLES, {"metadata": metadata, "rules": rules})
    await client.create(ROLEBINDINGS, {"metadata": metadata, "roleRef": reference, "subjects": [subject]})


@asynccontextmanager
async def link_to(
    clock: FakeClock, serves: tuple[str, ...], granted: tuple[str, ...]
) -> AsyncIterator[tuple[WorkerConnection, Client, Recording]]:
    """A link to a worker that serves some namespaces of a, b and c, as a user with rights in some."""
    async with Cluster(controllers="none") as cluster:
        outside = cluster.client()
        for name in "abc":
            await outside.create(NAMESPACES, {"metadata": {"name": name}})
        for name in granted:
            await _grant(outside, name)
        seen = Recording(cluster.transport("relay", ["system:authenticated"]))
        spec = WorkerSpec("w1", UsableKubeconfig(Connection("https://w1", "a"), "1"), namespaces=serves)
        options: dict[str, Any] = {
            "resources": [JOBS],
            "pod_owner": JobAdapter().pod_owner,
            "connect": lambda name, connection: seen,
        }
        link = WorkerConnection(spec, proofs=known_proofs(ORIGIN_HERE), clock=clock, random=Random(1), **options)
        async with running(link.run()):
            await advance(clock, 2)
            yield link, outside, seen


def _in(namespace: str) -> dict[str, Any]:
    return job("ours", namespace)


async def test_each_served_namespace_is_watched(clock: FakeClock) -> None:
    async with link_to(clock, ("a", "b"), ("a", "b")) as (link, outside, seen):
        for namespace in "abc":
            await outside.create(JOBS, _in(namespace))
        await advance(clock, 1)
        assert {obj.key for obj in link.mirrors[JOBS]} == {Key("a", "ours"), Key("b", "ours")}
        assert (link.connected, link.facts().namespaces) == (True, ("a", "b"))
        assert not seen.count("GET /apis/batch/v1/jobs")


async def test_what_is_gone_in_one_of_them_is_gone(clock: FakeClock) -> None:
    async with link_to(clock, ("a", "b"), ("a", "b")) as (link, outside, _):
        await outside.create(JOBS, _in("b"))
        await advance(clock, 1)
        await outside.delete(JOBS, "ours", "b", propagation="Background")
        await advance(clock, 1)
        assert not link.mirrors[JOBS]
        assert not link.mirrors.uids


async def test_a_namespace_without_rights_is_named_and_the_others_are_served(clock: FakeClock) -> None:
    async with link_to(clock, ("a", "b"), ("a",)) as (link, _, _):
        assert link.connected
        assert link.mirrors.unavailable[JOBS].startswith("in namespace b: it forbids this (403)")


async def test_a_namespace_that_is_added_is_watched_at_once(clock: FakeClock) -> None:
    async with link_to(clock, ("a",), ("a", "b")) as (link, outside, _):
        await outside.create(JOBS, _in("a"))
        await outside.create(JOBS, _in("b"))
        await advance(clock, 1)
        changes: list[object] = []
        link.mirrors[JOBS].subscribe(lambda old, new: changes.append((old is None, new is None)))
        link.update_spec(replace(link.spec, namespaces=("a", "b")))
        await advance(clock, 2)
        assert {obj.key.namespace for obj in link.mirrors[JOBS]} == {"a", "b"}
        assert changes == [(True, False), (True, False)]
        assert link.connected


async def test_from_all_namespaces_to_one_nothing_is_told_but_what_is_let_go(clock: FakeClock) -> None:
    async with Cluster(controllers="none") as cluster:
        outside = cluster.client()
        await outside.create(NAMESPACES, {"metadata": {"name": "a"}})
        spec = WorkerSpec("w1", UsableKubeconfig(Connection("https://w1", "a"), "1"))
        options: dict[str, Any] = {
            "resources": [JOBS],
            "pod_owner": JobAdapter().pod_owner,
            "connect": lambda name, connection: cluster.transport(),
        }
        link = WorkerConnection(spec, proofs=known_proofs(ORIGIN_HERE), clock=clock, random=Random(1), **options)
        async with running(link.run()):
            await outside.create(JOBS, _in("a"))
            await outside.create(JOBS, _in("default"))
            await advance(clock, 2)
            gone: list[Key] = []
            link.mirrors[JOBS].subscribe(lambda old, new: gone.append(old.key) if old and not new else None)
            link.update_spec(replace(spec, namespaces=("a",)))
            await advance(clock, 2)
            assert gone == [Key("default", "ours")]


def test_a_job_of_another_namespace_is_not_placed_there() -> None:
    now = snapshot(original(), [worker("west", namespaces=("a", "b"))])
    placement = now.place()
    assert placement.chosen is None
    assert "it serves only namespaces a, b" in placement.sentence


def test_a_job_of_a_served_namespace_is() -> None:
    assert snapshot(original(), [worker("west", namespaces=("a", "team"))]).place().chosen == "west"


@pytest.mark.parametrize("state", [State.OPEN, State.DRAINING])
def test_what_may_run_unseen_is_not_started_again(state: State) -> None:
    now = snapshot(original(cluster="west"), [worker("west", namespaces=("a",), state=state), worker("east")])
    decision = reconcile_original(now)
    assert decision.action is None
    assert "west no longer serves namespace team" in decision.sentence
    assert reconcile_mirror(now, "west", "train").action is None


def test_what_is_still_seen_goes_on() -> None:
    west = worker("west", namespaces=("a",))
    now = snapshot(original(cluster="west"), [west], {"west": mirror(status=running_status())})
    assert "It has been running on west" in reconcile_original(now).sentence


def test_a_worker_that_is_declared_lost_lets_go_of_it() -> None:
    west = worker("west", namespaces=("a",), state=State.LOST, lost=60)
    assert isinstance(
        reconcile_original(snapshot(original(cluster="west"), [west, worker("east")])).action, CommitAssignment
    )


@pytest.mark.parametrize(
    ("text", "names", "remarks"),
    [("a, b,a", ("a", "b"), 0), ("", (), 0), ("a,B/c", ("a",), 1), ("*", (), 1)],
)
def test_namespaces_are_read_from_an_annotation(text: str, names: tuple[str, ...], remarks: int) -> None:
    found, told = served_namespaces({SERVES: text})
    assert (found, len(told)) == (names, remarks)
