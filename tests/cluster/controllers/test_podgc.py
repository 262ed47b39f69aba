"""Pods that nobody will ever finish."""

from __future__ import annotations

from typing import Any

from jobrelay.cluster.controllers import podgc

from ..apiserver.serving import MERGE
from .running import World, world

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
OUT_OF_SERVICE = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}


async def make(w: World, node: str = "", **metadata: Any) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}]} | ({"nodeName": node} if node else {})
    await w.server.ok("POST", PODS, {"metadata": {"name": "p", **metadata}, "spec": spec})
    await w.pass_()


async def test_a_pod_of_a_missing_node_is_given_time_and_then_fails() -> None:
    async with world(podgc.set_up) as w:
        await make(w, "gone", finalizers=["example.com/hold"])
        await w.pass_(50)
        assert "deletionTimestamp" not in (await w.get(f"{PODS}/p"))["metadata"]
        await w.pass_(20)
        status = (await w.get(f"{PODS}/p"))["status"]
        assert status["phase"] == "Failed"
        condition = next(one for one in status["conditions"] if one["type"] == "DisruptionTarget")
        assert (condition["reason"], condition["message"]) == ("DeletionByPodGC", "PodGC: node no longer exists")


async def test_a_node_that_comes_in_time_keeps_its_pods() -> None:
    async with world(podgc.set_up) as w:
        await make(w, "late")
        await w.pass_(30)
        await w.server.ok("POST", NODES, {"metadata": {"name": "late"}})
        await w.pass_(100)
        assert await w.names(PODS) == ["p"]


async def test_a_deleted_pod_without_a_node_fails() -> None:
    async with world(podgc.set_up) as w:
        await make(w, finalizers=["example.com/hold"])
        await w.server.ok("DELETE", f"{PODS}/p")
        await w.pass_(21)
        assert (await w.get(f"{PODS}/p"))["status"]["phase"] == "Failed"


async def test_a_deleted_pod_of_a_node_in_service_is_left_to_it() -> None:
    async with world(podgc.set_up) as w:
        await w.server.ok("POST", NODES, {"metadata": {"name": "n"}})
        await make(w, "n")
        await w.server.ok("DELETE", f"{PODS}/p")
        await w.pass_(100)
        assert await w.names(PODS) == ["p"]


async def test_a_deleted_pod_of_a_node_out_of_service_goes() -> None:
    async with world(podgc.set_up) as w:
        await w.server.ok("POST", NODES, {"metadata": {"name": "n"}})
        await make(w, "n")
        await w.server.ok("DELETE", f"{PODS}/p")
        await w.server.ok("PATCH", f"{NODES}/n", {"spec": {"taints": [OUT_OF_SERVICE]}}, media=MERGE)
        await w.pass_(21)
        assert await w.names(PODS) == []
