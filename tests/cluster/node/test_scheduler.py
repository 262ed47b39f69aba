from __future__ import annotations

from typing import Any

from jobrelay.kube import merge_patch
from jobrelay.kube.resource import EVENTS, LEASES, NODES, PERSISTENTVOLUMECLAIMS, PODS, Resource

from .fake_time import Nodes, nodes, pod

PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
FOREVER = {"run-seconds": "forever"}


def scheduled(pod: dict[str, Any]) -> dict[str, Any]:
    return next((c for c in pod["status"].get("conditions") or () if c["type"] == "PodScheduled"), {})


async def refused(world: Nodes, name: str = "p") -> str:
    found = await world.until(lambda pod: scheduled(pod).get("reason") == "Unschedulable", name)
    return str(scheduled(found)["message"])


async def test_nodes_are_ready_and_say_what_they_have() -> None:
    async with nodes(nodes=2, cpu="3", memory="2Gi", pods=7, labels={"zone": "a"}) as world:
        await world.clock.settle()
        node = (await world.client.get(NODES, "node-1")).decode()
        assert node["status"]["allocatable"] | {"ephemeral-storage": ""} == {
            "cpu": "3", "memory": "2Gi", "pods": "7", "ephemeral-storage": "",
        }  # fmt: skip
        assert [c["status"] for c in node["status"]["conditions"] if c["type"] == "Ready"] == ["True"]
        assert node["metadata"]["labels"]["zone"] == "a"
        assert node["metadata"]["labels"]["kubernetes.io/hostname"] == "node-1"
        assert "taints" not in node["spec"]


async def test_a_node_renews_its_lease() -> None:
    async with nodes() as world:
        await world.clock.advance(1)
        first = (await world.client.get(LEASES, "node", "kube-node-lease")).decode()["spec"]["renewTime"]
        await world.clock.advance(90)
        assert (await world.client.get(LEASES, "node", "kube-node-lease")).decode()["spec"]["renewTime"] > first


async def test_a_pod_is_bound() -> None:
    async with nodes() as world:
        await world.create(pod())
        found = await world.until(lambda pod: bool(pod["spec"].get("nodeName")))
        assert found["spec"]["nodeName"] == "node"
        assert scheduled(found)["status"] == "True"


async def test_a_pod_that_does_not_fit_waits_and_says_why() -> None:
    async with nodes(cpu="1") as world:
        await world.create(pod(cpu="2"))
        assert (await refused(world)).startswith("0/1 nodes are available: 1 Insufficient cpu. ")
        await world.clock.advance(1)
        events = [event.decode() for event in (await world.client.list(EVENTS, "default")).items]
        assert [(e["reason"], e["type"]) for e in events if e["regarding"]["name"] == "p"] == [
            ("FailedScheduling", "Warning")
        ]


async def test_a_waiting_pod_goes_when_there_is_room() -> None:
    async with nodes(cpu="1") as world:
        await world.create(pod("first", cpu="1", annotations=FOREVER))
        await world.phase("Running", "first")
        await world.create(pod(cpu="1", annotations=FOREVER))
        await refused(world)
        await world.client.delete(PODS, "first", "default")
        await world.phase("Running")


async def test_an_ended_pod_holds_nothing() -> None:
    async with nodes(cpu="1") as world:
        await world.create(pod("first", cpu="1", annotations={"run-seconds": "5"}))
        await world.phase("Running", "first")
        await world.create(pod(cpu="1", annotations=FOREVER))
        await refused(world)
        await world.clock.advance(5)
        await world.phase("Running")


async def classes(world: Nodes) -> None:
    for name, value, policy in (("high", 100, "PreemptLowerPriority"), ("polite", 100, "Never")):
        body = {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy}
        await world.client.create(PRIORITY_CLASSES, body)


async def test_the_more_important_pod_goes_first() -> None:
    async with nodes(cpu="1") as world:
        await classes(world)
        await world.create(pod("first", cpu="1", annotations=FOREVER))
        await world.phase("Running", "first")
        await world.create(pod("low", cpu="1", annotations=FOREVER))
        await world.create(pod("high", cpu="1", annotations=FOREVER, priorityClassName="polite"))
        assert (await refused(world, "high")).endswith("preemption: not eligible due to preemptionPolicy=Never.")
        await world.client.delete(PODS, "first", "default")
        await world.phase("Running", "high")
        assert (await world.pod("low"))["status"]["phase"] == "Pending"


async def test_a_more_important_pod_pushes_others_aside() -> None:
    async with nodes(cpu="1") as world:
        await classes(world)
        held = pod("victim", cpu="1", annotations=FOREVER | {"stop-seconds": "5"})
        held["metadata"]["finalizers"] = ["example.com/hold"]
        await world.create(held)
        await world.phase("Running", "victim")
        await world.create(pod("high", cpu="1", annotations=FOREVER, priorityClassName="high"))
        assert await refused(world, "high") == "0/1 nodes are available: 1 Insufficient cpu."
        await world.until(lambda pod: pod["status"].get("nominatedNodeName") == "node", "high")
        await world.clock.advance(5)
        found = await world.phase("Running", "high")
        assert "nominatedNodeName" not in found["status"]
        victim = await world.pod("victim")
        target = next(c for c in victim["status"]["conditions"] if c["type"] == "DisruptionTarget")
        assert (target["reason"], "deletionTimestamp" in victim["metadata"]) == ("PreemptionByScheduler", True)


async def test_room_that_was_made_is_kept_for_whom_it_was_made() -> None:
    async with nodes(cpu="2") as world:
        await classes(world)
        slow = FOREVER | {"stop-seconds": "5"}
        await world.create(pod("a", cpu="1", annotations=FOREVER))
        await world.create(pod("b", cpu="1", annotations=slow))
        await world.phase("Running", "b")
        await world.create(pod("high", cpu="2", annotations=FOREVER, priorityClassName="high"))
        await world.gone("a")
        await world.create(pod("late", cpu="1", annotations=FOREVER))
        await refused(world, "late")
        await world.clock.advance(5)
        await world.phase("Running", "high")
        assert (await world.pod("late"))["status"]["phase"] == "Pending"


async def test_a_gated_pod_waits_for_its_gates() -> None:
    async with nodes() as world:
        await world.create(pod(schedulingGates=[{"name": "g.example/x"}]))
        await world.clock.settle()
        assert "nodeName" not in (await world.pod())["spec"]
        await world.client.patch(PODS, "p", merge_patch({"spec": {"schedulingGates": None}}), "default")
        await world.phase("Succeeded")


async def test_another_schedulers_pod_is_left_alone() -> None:
    async with nodes() as world:
        await world.create(pod("theirs", schedulerName="other"))
        await world.create(pod())
        await world.phase("Succeeded")
        assert "nodeName" not in (await world.pod("theirs"))["spec"]


async def test_a_node_that_gains_a_label_takes_who_waited_for_it() -> None:
    async with nodes() as world:
        await world.create(pod(nodeSelector={"disk": "ssd"}))
        assert "didn't match Pod's node affinity/selector" in await refused(world)
        await world.client.patch(NODES, "node", merge_patch({"metadata": {"labels": {"disk": "ssd"}}}))
        await world.phase("Succeeded")


async def test_a_cordoned_node_takes_nothing() -> None:
    async with nodes() as world:
        await world.clock.settle()
        await world.client.patch(NODES, "node", merge_patch({"spec": {"unschedulable": True}}))
        await world.clock.settle()
        await world.create(pod())
        assert "1 node(s) were unschedulable" in await refused(world)


def with_claim(name: str) -> dict[str, Any]:
    body = pod()
    body["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]
    return body


async def test_a_pod_waits_for_its_claim() -> None:
    async with nodes(nodes=2) as world:
        await world.create(with_claim("data"))
        assert await refused(world) == (
            '0/2 nodes are available: persistentvolumeclaim "data" not found. no new claims to deallocate, preemption: '
            "0/2 nodes are available: 2 Preemption is not helpful for scheduling."
        )
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": spec}
        await world.client.create(PERSISTENTVOLUMECLAIMS, claim, "default")
        await world.until(lambda pod: bool(pod["spec"].get("nodeName")))
