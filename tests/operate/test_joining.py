"""`join` and `leave`: what they make, change and undo."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jobrelay.kube import Client, Connection, Object
from jobrelay.kube.resource import (
    CLUSTERROLES,
    JOBS,
    NAMESPACES,
    PODS,
    ROLES,
    SECRETS,
    SERVICEACCOUNTS,
    VALIDATINGADMISSIONPOLICIES,
)
from jobrelay.operate import OperateError
from jobrelay.operate.applying import Step, find, ignore
from jobrelay.operate.identity import HOME, IDENTITY
from jobrelay.operate.joining import PERMISSION_KINDS, JoinRequest, join
from jobrelay.operate.kubeconfig import worker_kubeconfig as make_kubeconfig
from jobrelay.operate.leaving import LeaveRequest, leave
from jobrelay.operate.permissions import Permission, missing_permissions
from jobrelay.relay.names import NAMESPACES as SERVES
from jobrelay.relay.names import RENEW
from jobrelay.relay.relay import find_origin
from jobrelay.relay.workers.multikueue import CLUSTERS
from jobrelay.relay.workers.tokens import read_token, token_in
from tests.relay.fleets import NAMESPACE, Fleet, fleet

from .fleets import TEAMS, as_relay, join_worker, leave_worker, make_namespaces, way, worker_kubeconfig
from .test_identities import mirror

CLUSTER = CLUSTERS["v1beta2"]
NOWHERE = Connection("https://127.0.0.1:1")


async def _held(client: Client) -> set[tuple[str, str]]:
    """What identities have on a cluster: (kind, namespace)."""
    found: list[tuple[str, Object]] = []
    for resource in (*PERMISSION_KINDS, SERVICEACCOUNTS):
        found += [(resource.kind, obj) for obj in (await client.list(resource, label_selector=IDENTITY)).items]
    return {(kind, obj.namespace) for kind, obj in found}


async def test_a_worker_is_registered_with_its_namespaces_and_a_token_to_renew() -> None:
    async with fleet(1, start=False) as it:
        await join_worker(it, ttl=3600.0, labels={"region": "west"})
        cluster, secret = await it.client.get(CLUSTER, "worker-1"), await it.client.get(SECRETS, "worker-1", NAMESPACE)
        assert cluster.metadata.annotations == {SERVES: "team-a,team-b"}
        assert cluster.metadata.labels == {"region": "west"}
        assert secret.metadata.annotations == {RENEW: "true"}
        token = read_token(token_in(await worker_kubeconfig(it)))
        assert token is not None
        assert (token.lifetime, token.namespace) == (3600, HOME)


async def test_the_right_to_run_commands_comes_and_goes_with_the_option() -> None:
    needed = [Permission(verb, PODS, team, "exec") for team in TEAMS for verb in ("create", "get")]
    async with fleet(1, start=False) as it:
        for given, missing in ((False, needed), (True, []), (False, needed)):
            await join_worker(it, commands=given)
            async with as_relay(it) as relay:
                assert await missing_permissions(relay, needed) == missing


async def test_all_rights_are_in_single_namespaces_unless_asked() -> None:
    async with fleet(1, start=False) as it:
        await join_worker(it)
        there = it.on("worker-1")
        roles = {obj.namespace for obj in (await there.list(ROLES, label_selector=IDENTITY)).items}
        assert roles == {*TEAMS, HOME, "kube-system"}
        assert not (await there.list(CLUSTERROLES, label_selector=IDENTITY)).items
        await join_worker(it, cluster_wide=True)
        assert (await there.list(CLUSTERROLES, label_selector=IDENTITY)).items


async def test_joining_again_changes_nothing_but_the_token() -> None:
    async with fleet(1, start=False) as it:
        asked = await join_worker(it)
        steps: list[Step] = []
        there = it.workers["worker-1"]

        async def checked() -> bool:
            policy = await there.client().get(VALIDATINGADMISSIONPOLICIES, asked.identity.name)
            return "observedGeneration" in policy.decode().get("status", {})

        await it.until(checked)
        await join(it.client, there.client(), way(there), asked, steps.append)
        assert {step.action for step in steps if step.cluster == "worker"} == {"unchanged"}


async def test_joining_with_less_takes_rights_away() -> None:
    async with fleet(1, start=False) as it:
        await join_worker(it, cluster_wide=True)
        await join_worker(it, namespaces=("team-a",), policy=False)
        held = await _held(it.on("worker-1"))
        assert ("Role", "team-b") not in held
        assert not {"ClusterRole", "ValidatingAdmissionPolicy"} & {kind for kind, _ in held}
        assert ("Role", "team-a") in held


async def test_a_dry_run_changes_nothing() -> None:
    async with fleet(1, start=False) as it:
        steps: list[Step] = []
        there = it.workers["worker-1"]
        asked = JoinRequest(
            name="worker-1", namespaces=("default",), relay_namespace=NAMESPACE, origin="tests", dry_run=True
        )
        await join(it.client, there.client(), way(there), asked, steps.append)
        assert all(step.action.startswith("would be ") for step in steps)
        assert not await _held(there.client())
        assert await find(it.client, SECRETS, "worker-1", NAMESPACE) is None


async def test_a_missing_namespace_is_named() -> None:
    async with fleet(1, start=False) as it:
        with pytest.raises(OperateError, match="no namespace team-a, team-b"):
            await join_worker(it, create_namespaces=False)
        assert not await _held(it.on("worker-1"))


async def test_a_cluster_is_one_worker_only() -> None:
    async with fleet(1, start=False) as it:
        asked = await join_worker(it)
        there = it.workers["worker-1"]
        with pytest.raises(OperateError, match="already worker 'worker-1'"):
            await join(it.client, there.client(), way(there), replace(asked, name="west"), ignore)


async def test_two_management_clusters_share_a_worker() -> None:
    async with fleet(1, start=False) as it:
        await join_worker(it)
        there = it.workers["worker-1"]
        other = JoinRequest(
            name="worker-1", namespaces=("default",), relay_namespace=NAMESPACE, origin="jobrelay-other"
        )
        await join(it.client, there.client(), way(there), other, ignore)
        await leave_worker(it)
        accounts = await there.client().list(SERVICEACCOUNTS, HOME, label_selector=IDENTITY)
        assert [obj.name for obj in accounts.items] == ["jobrelay-other"]
        assert await find(there.client(), VALIDATINGADMISSIONPOLICIES, "jobrelay-other") is not None


async def test_leave_undoes_everything() -> None:
    async with fleet(1, start=False) as it:
        await join_worker(it, cluster_wide=True)
        assert await leave_worker(it) == []
        there = it.on("worker-1")
        assert not await _held(there)
        home = await find(there, NAMESPACES, HOME)
        assert home is None or home.deleting
        assert await find(it.client, SECRETS, "worker-1", NAMESPACE) is None
        assert await find(it.client, CLUSTER, "worker-1") is None
        assert await leave_worker(it) == []


async def _leave(it: Fleet, management: Connection, worker: Connection | None, **asked: Any) -> list[str]:
    return await leave(management, worker, LeaveRequest("worker-1", NAMESPACE, **asked), ignore)


async def test_leave_says_what_a_worker_that_is_gone_keeps() -> None:
    async with fleet(1, start=False) as it:
        await join_worker(it)
        left = await _leave(it, way(it.management), NOWHERE)
        assert len(left) == 1
        assert left[0].startswith(f"the worker keeps the identity {await find_origin(it.client)}")
        assert await find(it.client, CLUSTER, "worker-1") is None


async def test_leave_finds_the_identity_when_the_management_cluster_is_gone() -> None:
    async with fleet(1, start=False) as it:
        await join_worker(it)
        left = await _leave(it, NOWHERE, way(it.workers["worker-1"]))
        assert [each.partition(":")[0] for each in left] == [
            "the management cluster keeps MultiKueueCluster and Secret worker-1"
        ]
        assert not await _held(it.on("worker-1"))


async def test_leave_does_not_pull_the_rug_from_under_jobs() -> None:
    async with fleet(1, start=False) as it:
        asked = await join_worker(it)
        waiting = mirror(asked.origin)
        waiting["spec"]["suspend"] = True
        await it.on("worker-1").create(JOBS, waiting)
        with pytest.raises(OperateError, match="1 mirrors still run on the worker: Job team-a/m"):
            await _leave(it, way(it.management), way(it.workers["worker-1"]))
        assert await _leave(it, way(it.management), way(it.workers["worker-1"]), force=True) == []


@pytest.mark.parametrize(
    ("connection", "problem"),
    [
        (Connection("https://w", insecure=True), "skips verification"),
        (Connection("https://w", proxy_url="http://p"), "proxy"),
    ],
)
def test_a_way_that_the_relay_cannot_go_is_refused(connection: Connection, problem: str) -> None:
    with pytest.raises(OperateError, match=problem):
        make_kubeconfig("west", connection, "default", "t")


async def test_namespaces_of_others_are_left_alone() -> None:
    async with fleet(1, start=False) as it:
        await make_namespaces(it.on("worker-1"), HOME)
        await join_worker(it)
        await leave_worker(it)
        home = await find(it.on("worker-1"), NAMESPACES, HOME)
        assert home is not None
        assert not home.deleting
