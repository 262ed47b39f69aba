"""Subresources: status, scale, binding, eviction, log, and events in both of their APIs."""

from __future__ import annotations

import pytest

from .serving import CONFIGMAPS, JOBS, JSON, MERGE, PODS, YAML, Obj, Server, job, pod

APPS = "/apis/apps/v1/namespaces/default/deployments"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


def deployment(**spec: object) -> Obj:
    labels = {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "image"}]}}
    return {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": labels}, "template": template, **spec}}


async def test_a_status_changes_only_the_status(server: Server) -> None:
    made = await server.ok("POST", JOBS, job())
    made["spec"]["parallelism"], made["status"] = 9, {"active": 1, "startTime": "2026-01-01T12:00:00Z"}
    after = await server.ok("PUT", f"{JOBS}/j/status", made)
    assert (after["spec"]["parallelism"], after["status"]["active"]) == (1, 1)


async def test_an_update_does_not_change_the_status(server: Server) -> None:
    made = await server.ok("POST", JOBS, job())
    after = await server.ok("PUT", f"{JOBS}/j", {**made, "status": {"active": 3}})
    assert after["status"] == {}


async def test_the_status_is_patched_with_an_owner_of_its_own(server: Server) -> None:
    await server.ok("POST", JOBS, job())
    status = {"status": {"active": 1, "startTime": "2026-01-01T12:00:00Z"}}
    after = await server.ok("PATCH", f"{JOBS}/j/status?fieldManager=m", status, media=MERGE)
    assert [e.get("subresource") for e in after["metadata"]["managedFields"] if e["manager"] == "m"] == ["status"]


async def test_a_status_is_read_as_the_object(server: Server) -> None:
    made = await server.ok("POST", JOBS, job())
    assert await server.ok("GET", f"{JOBS}/j/status") == made


@pytest.mark.parametrize(("path", "code"), [(f"{CONFIGMAPS}/a/status", 404), (f"{JOBS}/j/colour", 404)])
async def test_subresources_that_do_not_exist(server: Server, path: str, code: int) -> None:
    answer = await server.call("GET", path)
    assert (answer.code, answer.message) == (code, "the server could not find the requested resource")


async def test_a_deployment_is_scaled(server: Server) -> None:
    await server.ok("POST", APPS, deployment(replicas=2))
    scale = await server.ok("GET", f"{APPS}/d/scale")
    assert (scale["kind"], scale["spec"], scale["status"]["selector"]) == ("Scale", {"replicas": 2}, "app=x")
    await server.ok("PUT", f"{APPS}/d/scale", {**scale, "spec": {"replicas": 5}})
    await server.ok("PATCH", f"{APPS}/d/scale", {"spec": {"replicas": 6}}, media=MERGE)
    assert (await server.ok("GET", f"{APPS}/d"))["spec"]["replicas"] == 6
    answer = await server.call("PATCH", f"{APPS}/d/scale", {"spec": {"replicas": -1}}, media=MERGE)
    assert (answer.code, answer.message.startswith('Scale.autoscaling "d" is invalid: spec.replicas')) == (422, True)


async def test_a_pod_is_bound_once(server: Server) -> None:
    await server.ok("POST", PODS, pod())
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    answer = await server.call("POST", f"{PODS}/p/binding", binding)
    assert (answer.code, answer.body["status"]) == (201, "Success")
    assert (await server.ok("GET", f"{PODS}/p"))["spec"]["nodeName"] == "n"
    again = await server.call("POST", f"{PODS}/p/binding", binding)
    assert (again.code, 'pod p is already assigned to node "n"' in again.message) == (409, True)


async def test_a_binding_needs_a_target(server: Server) -> None:
    await server.ok("POST", PODS, pod())
    answer = await server.call("POST", f"{PODS}/p/binding", {"target": {}})
    assert (answer.code, answer.message) == (500, "target.name: Required value")


async def running(server: Server, *, allowed: int) -> None:
    """A pod that runs, and a budget that allows some disruptions."""
    made = pod(nodeName="n")
    made["metadata"]["labels"] = {"app": "x"}
    await server.ok("POST", PODS, made)
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await server.ok("PATCH", f"{PODS}/p/status", {"status": ready}, media=MERGE)
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}
    await server.ok("POST", BUDGETS, {"metadata": {"name": "b"}, "spec": spec})
    counts = {
        "currentHealthy": 1,
        "desiredHealthy": 1,
        "disruptionsAllowed": allowed,
        "expectedPods": 1,
        "observedGeneration": 1,
    }
    await server.ok("PATCH", f"{BUDGETS}/b/status", {"status": counts}, media=MERGE)


async def test_a_budget_forbids_evictions(server: Server) -> None:
    await running(server, allowed=0)
    answer = await server.call("POST", f"{PODS}/p/eviction", {"metadata": {"name": "p"}})
    assert (answer.code, answer.message) == (429, "Cannot evict pod as it would violate the pod's disruption budget.")
    assert answer.body["details"]["causes"] == [
        {"reason": "DisruptionBudget", "message": "The disruption budget b needs 1 healthy pods and has 1 currently"}
    ]


async def test_an_allowed_eviction_deletes_gracefully(server: Server) -> None:
    await running(server, allowed=1)
    answer = await server.call("POST", f"{PODS}/p/eviction", {"metadata": {"name": "p"}})
    assert answer.code == 201
    leaving = await server.ok("GET", f"{PODS}/p")
    assert leaving["metadata"]["deletionGracePeriodSeconds"] == 30
    assert [c["reason"] for c in leaving["status"]["conditions"] if c["type"] == "DisruptionTarget"] == [
        "EvictionByEvictionAPI"
    ]


@pytest.mark.parametrize(
    ("media", "body"),
    [
        (JSON, b'{"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "p"}}'),
        (JSON, b'{"apiVersion": "policy\\/v1beta1", "kind": "Eviction", "metadata": {"name": "p"}}'),
        (YAML, b"apiVersion: policy/v1beta1\nkind: Eviction\nmetadata: {name: p}\n"),
    ],
)
async def test_an_eviction_of_the_older_version_is_taken_however_it_is_written(
    server: Server, media: str, body: bytes
) -> None:
    await server.ok("POST", PODS, pod())
    assert (await server.call("POST", f"{PODS}/p/eviction", body, media=media)).code == 201


async def test_a_pod_without_a_node_has_no_log(server: Server) -> None:
    await server.ok("POST", PODS, pod())
    answer = await server.call("GET", f"{PODS}/p/log")
    assert (answer.code, answer.raw) == (204, b"")
    answer = await server.call("GET", f"{PODS}/p/log?container=x")
    assert (answer.code, answer.message) == (400, "container x is not valid for pod p")
    answer = await server.call("GET", f"{PODS}/p/log?tailLines=-1")
    assert (answer.code, "tailLines" in answer.message) == (422, True)


async def test_one_event_is_seen_in_both_apis(server: Server) -> None:
    core, newer = "/api/v1/namespaces/default/events", "/apis/events.k8s.io/v1/namespaces/default/events"
    about = {"kind": "Pod", "name": "p", "namespace": "default"}
    sent = {
        "metadata": {"name": "e"},
        "involvedObject": about,
        "reason": "R",
        "message": "m",
        "type": "Normal",
        "count": 3,
    }
    await server.ok("POST", core, sent)
    seen = await server.ok("GET", f"{newer}/e")
    assert (seen["regarding"], seen["note"], seen["deprecatedCount"]) == (about, "m", 3)
    watcher = await server.watch(f"{newer}?resourceVersion=0")
    await server.ok("PATCH", f"{core}/e", {"count": 4}, media=MERGE)
    await server.settle()
    assert [event["object"]["deprecatedCount"] for event in watcher.events] == [3, 4]
