"""Evictions: a pod is deleted if its disruption budget allows it."""

from __future__ import annotations

from typing import Any

import pytest

from .serving import MERGE, PODS, Answer, Obj, Server, pod

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


async def running(server: Server, name: str = "p", **status: Any) -> None:
    made = pod(name, nodeName="n")
    made["metadata"]["labels"] = {"app": "x"}
    await server.ok("POST", PODS, made)
    await server.ok("PATCH", f"{PODS}/{name}/status", {"status": status or READY}, media=MERGE)


async def budget(server: Server, name: str = "b", policy: str = "", **status: Any) -> None:
    spec: Obj = {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}
    if policy:
        spec["unhealthyPodEvictionPolicy"] = policy
    await server.ok("POST", BUDGETS, {"metadata": {"name": name}, "spec": spec})
    full = {"observedGeneration": 1, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0, **status}
    await server.ok("PATCH", f"{BUDGETS}/{name}/status", {"status": full}, media=MERGE)


async def evict(server: Server, name: str = "p", query: str = "", **options: Any) -> Answer:
    body: Obj = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    return await server.call("POST", f"{PODS}/{name}/eviction{query}", {**body, "deleteOptions": options})


async def test_an_eviction_is_taken_from_the_budget(server: Server) -> None:
    await running(server)
    await budget(server, disruptionsAllowed=2)
    assert (await evict(server)).code == 201
    status = (await server.ok("GET", f"{BUDGETS}/b"))["status"]
    assert (status["disruptionsAllowed"], list(status["disruptedPods"])) == (1, ["p"])
    assert (await server.ok("GET", f"{PODS}/p"))["metadata"]["deletionTimestamp"]


async def test_the_last_eviction_of_a_budget_is_shown_in_its_condition(server: Server) -> None:
    await running(server)
    await budget(server, disruptionsAllowed=1)
    await evict(server)
    conditions = (await server.ok("GET", f"{BUDGETS}/b"))["status"]["conditions"]
    assert [(one["type"], one["status"], one["reason"]) for one in conditions] == [
        ("DisruptionAllowed", "False", "InsufficientPods")
    ]


@pytest.mark.parametrize(
    ("status", "why", "retry"),
    [
        ({"currentHealthy": 1, "desiredHealthy": 2}, "needs 2 healthy pods and has 1 currently", None),
        ({"currentHealthy": 3, "desiredHealthy": 2}, "does not allow evicting pods currently", None),
        ({"observedGeneration": 0}, "is still being processed by the server.", 10),
    ],
)
async def test_a_budget_says_why_it_refuses(server: Server, status: Obj, why: str, retry: int | None) -> None:
    await running(server)
    await budget(server, **status)
    answer = await evict(server)
    details = answer.body["details"]
    assert (answer.code, details.get("retryAfterSeconds")) == (429, retry)
    assert details["causes"] == [{"reason": "DisruptionBudget", "message": f"The disruption budget b {why}"}]


async def test_pods_with_two_budgets_cannot_be_evicted(server: Server) -> None:
    await running(server)
    for name in ("a", "b"):
        await budget(server, name, disruptionsAllowed=1)
    answer = await evict(server)
    assert (answer.code, answer.message.partition(",")[0]) == (500, "This pod has more than one PodDisruptionBudget")


@pytest.mark.parametrize(
    ("policy", "healthy", "code"), [("AlwaysAllow", 0, 201), ("", 1, 201), ("", 0, 429), ("IfHealthyBudget", 0, 429)]
)
async def test_an_unhealthy_pod_may_go_if_the_rest_is_healthy(
    server: Server, policy: str, healthy: int, code: int
) -> None:
    await running(server, phase="Running")
    await budget(server, policy=policy, currentHealthy=healthy, desiredHealthy=1)
    assert (await evict(server)).code == code


@pytest.mark.parametrize("phase", ["Succeeded", "Failed", "Pending"])
async def test_pods_that_do_not_run_need_no_budget(server: Server, phase: str) -> None:
    await running(server, phase=phase)
    await budget(server)
    assert (await evict(server)).code == 201


async def test_a_dry_run_takes_nothing(server: Server) -> None:
    await running(server)
    await budget(server, disruptionsAllowed=1)
    assert (await evict(server, query="?dryRun=All")).code == 201
    assert (await server.ok("GET", f"{BUDGETS}/b"))["status"]["disruptionsAllowed"] == 1
    assert "deletionTimestamp" not in (await server.ok("GET", f"{PODS}/p"))["metadata"]


async def test_the_options_inside_count(server: Server) -> None:
    await running(server)
    assert (await evict(server, preconditions={"uid": "other"})).code == 409
    assert (await evict(server, gracePeriodSeconds=0)).code == 201
    assert (await server.call("GET", f"{PODS}/p")).code == 404


async def test_the_version_that_was_meant_may_be_named(server: Server) -> None:
    await running(server)
    before = await server.ok("GET", f"{PODS}/p")
    assert (await evict(server, preconditions={"resourceVersion": "1"})).code == 409
    assert await server.ok("GET", f"{PODS}/p") == before
    version = before["metadata"]["resourceVersion"]
    assert (await evict(server, preconditions={"resourceVersion": version})).code == 201
