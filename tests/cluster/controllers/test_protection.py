"""Deleted claims, volumes and attributes classes stay while they are in use."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from jobrelay.cluster.controllers.protection import AttributesClassProtection, ClaimProtection, VolumeProtection

from ..apiserver.serving import MERGE, PODS, Obj, Server, pod

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/volumeattributesclasses"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    for controller in (ClaimProtection, VolumeProtection, AttributesClassProtection):
        controller(made.services).start()
    yield made
    made.api.watches.close()


def claim(name: str = "c", **spec: Any) -> Obj:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return {"metadata": {"name": name}, "spec": asked}


def user(name: str = "p", **fields: Any) -> Obj:
    return pod(name, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}], **fields)


async def exists(server: Server, path: str) -> bool:
    await server.settle()
    return (await server.call("GET", path)).code == 200


async def test_an_unused_claim_goes_when_it_is_deleted(server: Server) -> None:
    await server.ok("POST", CLAIMS, claim())
    await server.ok("POST", PODS, user())  # not on a node yet
    await server.ok("DELETE", f"{CLAIMS}/c")
    assert not await exists(server, f"{CLAIMS}/c")


async def test_a_claim_stays_until_the_pods_that_use_it_are_gone(server: Server) -> None:
    await server.ok("POST", CLAIMS, claim())
    for name in ("p", "q"):
        await server.ok("POST", PODS, user(name, nodeName="n"))
    await server.ok("DELETE", f"{CLAIMS}/c")
    await server.ok("DELETE", f"{PODS}/p?gracePeriodSeconds=0")
    assert await exists(server, f"{CLAIMS}/c")
    await server.ok("DELETE", f"{PODS}/q?gracePeriodSeconds=0")
    assert not await exists(server, f"{CLAIMS}/c")


async def test_a_claim_of_an_ephemeral_volume_is_used_by_its_own_pod_only(server: Server) -> None:
    template = {"spec": claim()["spec"]}
    volumes = [{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}]
    owner = await server.ok("POST", PODS, pod("p", volumes=volumes, nodeName="n"))
    for uid, stays in ((owner["metadata"]["uid"], True), ("other", False)):
        reference = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid, "controller": True}
        made = claim("p-v")
        made["metadata"]["ownerReferences"] = [reference]
        await server.ok("POST", CLAIMS, made)
        await server.ok("DELETE", f"{CLAIMS}/p-v")
        assert await exists(server, f"{CLAIMS}/p-v") == stays
        await server.call("PATCH", f"{CLAIMS}/p-v", {"metadata": {"finalizers": None}}, media=MERGE)


async def test_other_finalizers_stay(server: Server) -> None:
    made = claim()
    made["metadata"]["finalizers"] = ["example.com/x"]
    await server.ok("POST", CLAIMS, made)
    await server.ok("DELETE", f"{CLAIMS}/c")
    await server.settle()
    assert (await server.ok("GET", f"{CLAIMS}/c"))["metadata"]["finalizers"] == ["example.com/x"]


async def test_a_claim_that_lost_its_protection_gets_it_back(server: Server) -> None:
    await server.ok("POST", CLAIMS, claim())
    await server.ok("PATCH", f"{CLAIMS}/c", {"metadata": {"finalizers": None}}, media=MERGE)
    await server.settle()
    assert (await server.ok("GET", f"{CLAIMS}/c"))["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]


async def test_a_bound_volume_stays(server: Server) -> None:
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/tmp"}}
    await server.ok("POST", VOLUMES, {"metadata": {"name": "v"}, "spec": spec})
    await server.ok("PATCH", f"{VOLUMES}/v/status", {"status": {"phase": "Bound"}}, media=MERGE)
    await server.ok("DELETE", f"{VOLUMES}/v")
    assert await exists(server, f"{VOLUMES}/v")
    await server.ok("PATCH", f"{VOLUMES}/v/status", {"status": {"phase": "Released"}}, media=MERGE)
    assert not await exists(server, f"{VOLUMES}/v")


async def test_an_attributes_class_stays_while_a_claim_names_it(server: Server) -> None:
    body = {"metadata": {"name": "fast"}, "driverName": "example.com", "parameters": {"a": "b"}}
    await server.ok("POST", CLASSES, body)
    await server.ok("POST", CLAIMS, claim(volumeAttributesClassName="fast"))
    await server.ok("DELETE", f"{CLASSES}/fast")
    assert await exists(server, f"{CLASSES}/fast")
    await server.ok("DELETE", f"{CLAIMS}/c")
    assert not await exists(server, f"{CLASSES}/fast")
