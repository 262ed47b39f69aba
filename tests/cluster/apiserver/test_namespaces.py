"""The life of namespaces, and of what is in them."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import AsyncIterator

import pytest

from .serving import MERGE, PODS, Server, config, pod

NAMESPACES = "/api/v1/namespaces"
INSIDE = "/api/v1/namespaces/n/configmaps"


@pytest.fixture
async def living(server: Server) -> AsyncIterator[Server]:
    controllers = server.start_controllers()
    await server.ok("POST", NAMESPACES, {"metadata": {"name": "n"}})
    await server.settle()
    yield server
    controllers.stop()


async def test_a_new_namespace_is_active_and_labelled(server: Server) -> None:
    made = await server.ok("POST", NAMESPACES, {"metadata": {"name": "n"}})
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "n"}
    assert (made["spec"], made["status"]) == ({"finalizers": ["kubernetes"]}, {"phase": "Active"})


async def test_a_new_namespace_is_filled(living: Server) -> None:
    assert (await living.call("GET", INSIDE)).names == ["kube-root-ca.crt"]
    assert (await living.call("GET", f"{NAMESPACES}/n/serviceaccounts")).names == ["default"]


async def test_nothing_is_created_in_a_namespace_that_is_missing(server: Server) -> None:
    answer = await server.call("POST", INSIDE, config())
    assert (answer.code, answer.message) == (404, 'namespaces "n" not found')
    assert (await server.call("GET", INSIDE)).names == []


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_some_namespaces_stay(server: Server, name: str) -> None:
    answer = await server.call("DELETE", f"{NAMESPACES}/{name}")
    assert (answer.code, answer.message) == (
        403,
        f'namespaces "{name}" is forbidden: this namespace may not be deleted',
    )


async def test_a_deleted_namespace_takes_nothing_new(server: Server) -> None:
    await server.ok("POST", NAMESPACES, {"metadata": {"name": "n"}})
    assert (await server.ok("DELETE", f"{NAMESPACES}/n"))["status"] == {"phase": "Terminating"}
    answer = await server.call("POST", INSIDE, config())
    assert answer.message == (
        'configmaps "a" is forbidden: unable to create new content in namespace n because it is being terminated'
    )
    assert answer.body["details"]["causes"][0]["reason"] == "NamespaceTerminating"


@pytest.mark.looptime
async def test_a_deleted_namespace_is_emptied_and_goes(living: Server) -> None:
    await living.ok("POST", INSIDE, config())
    await living.ok("DELETE", f"{NAMESPACES}/n")
    await asyncio.sleep(4)
    assert (await living.call("GET", f"{INSIDE}/a")).code == 200
    await asyncio.sleep(2)
    assert (await living.call("GET", INSIDE)).names == []
    assert (await living.call("GET", f"{NAMESPACES}/n")).code == 404


@pytest.mark.looptime
async def test_a_namespace_waits_for_finalizers_in_it(living: Server) -> None:
    sent = config()
    sent["metadata"]["finalizers"] = ["x.example/y"]
    await living.ok("POST", INSIDE, sent)
    await living.ok("DELETE", f"{NAMESPACES}/n")
    await asyncio.sleep(10)
    assert (await living.ok("GET", f"{NAMESPACES}/n"))["status"]["phase"] == "Terminating"
    await living.ok("PATCH", f"{INSIDE}/a", {"metadata": {"finalizers": None}}, media=MERGE)
    await asyncio.sleep(2)
    assert (await living.call("GET", f"{NAMESPACES}/n")).code == 404


@pytest.mark.looptime
async def test_a_namespace_with_a_finalizer_of_its_own_stays_until_it_is_finalized(living: Server) -> None:
    namespace = await living.ok("GET", f"{NAMESPACES}/n")
    namespace["spec"]["finalizers"].append("x.example/y")
    await living.ok("PUT", f"{NAMESPACES}/n/finalize", namespace)
    await living.ok("DELETE", f"{NAMESPACES}/n")
    await asyncio.sleep(10)
    left = await living.ok("GET", f"{NAMESPACES}/n")
    assert left["spec"]["finalizers"] == ["x.example/y"]
    await living.ok("PUT", f"{NAMESPACES}/n/finalize", {**left, "spec": {}})
    await living.settle()
    assert (await living.call("GET", f"{NAMESPACES}/n")).code == 404


async def told(server: Server, name: str = "n") -> dict[str, str]:
    """The conditions of a namespace that are true, with their messages."""
    conditions = (await server.ok("GET", f"{NAMESPACES}/{name}"))["status"]["conditions"]
    return {one["type"]: one["message"] for one in conditions if one["status"] == "True"}


@pytest.mark.looptime
async def test_a_namespace_says_what_is_left_of_it(living: Server) -> None:
    for name in ("a", "b"):
        sent = config(name)
        sent["metadata"]["finalizers"] = ["x.example/y"]
        await living.ok("POST", INSIDE, sent)
    await living.ok("DELETE", f"{NAMESPACES}/n")
    await asyncio.sleep(6)
    assert await told(living) == {
        "NamespaceContentRemaining": "Some resources are remaining: configmaps. has 2 resource instances",
        "NamespaceFinalizersRemaining": (
            "Some content in the namespace has finalizers remaining: x.example/y in 2 resource instances"
        ),
    }


@pytest.mark.looptime
async def test_pods_go_before_everything_else(living: Server) -> None:
    await living.ok("POST", INSIDE, config())
    await living.ok("POST", f"{NAMESPACES}/n/pods", pod(nodeName="node"))
    await living.ok("DELETE", f"{NAMESPACES}/n")
    await asyncio.sleep(6)
    assert (await living.ok("GET", f"{NAMESPACES}/n/pods/p"))["metadata"]["deletionGracePeriodSeconds"] == 30
    assert (await living.call("GET", f"{INSIDE}/a")).code == 200
    assert await told(living) == {}
    await living.ok("DELETE", f"{NAMESPACES}/n/pods/p?gracePeriodSeconds=0")
    await asyncio.sleep(2)
    assert (await living.call("GET", f"{NAMESPACES}/n")).code == 404


@pytest.mark.looptime
async def test_pods_that_do_not_end_in_time_are_a_failure(living: Server) -> None:
    await living.ok("POST", f"{NAMESPACES}/n/pods", pod(nodeName="node"))
    await living.ok("DELETE", f"{NAMESPACES}/n")
    living.now += dt.timedelta(seconds=40)
    await asyncio.sleep(6)
    assert await told(living) == {
        "NamespaceDeletionContentFailure": (
            "Failed to delete all resource types, 1 remaining: unexpected items still remain in namespace: n for gvr: "
            "/v1, Resource=pods"
        )
    }


async def test_what_every_namespace_has_comes_back(living: Server) -> None:
    await living.ok("DELETE", f"{INSIDE}/kube-root-ca.crt")
    await living.ok("DELETE", f"{NAMESPACES}/n/serviceaccounts/default")
    await living.settle()
    assert (await living.call("GET", INSIDE)).names == ["kube-root-ca.crt"]
    assert (await living.call("GET", f"{NAMESPACES}/n/serviceaccounts")).names == ["default"]


async def test_a_changed_certificate_is_put_right(living: Server) -> None:
    await living.ok("PATCH", f"{INSIDE}/kube-root-ca.crt", {"data": {"ca.crt": "mine", "more": "x"}}, media=MERGE)
    await living.settle()
    assert (await living.ok("GET", f"{INSIDE}/kube-root-ca.crt"))["data"] == {"ca.crt": "authority"}


_ENFORCE = "pod-security.kubernetes.io/enforce"


async def test_a_namespace_with_pod_security_labels_that_are_not_understood_is_refused(server: Server) -> None:
    made = {"metadata": {"name": "n", "labels": {_ENFORCE: "strict"}}}
    answer = await server.call("POST", "/api/v1/namespaces", made)
    why = f'metadata.labels[{_ENFORCE}]: Invalid value: "strict": must be one of privileged, baseline, restricted'
    assert (answer.code, answer.message) == (422, f'Namespace "n" is invalid: {why}')


async def test_a_namespace_that_enforces_more_warns_of_its_pods(server: Server) -> None:
    await server.ok("POST", PODS, pod(hostPID=True))
    labels = {"metadata": {"labels": {_ENFORCE: "baseline"}}}
    answer = await server.call("PATCH", "/api/v1/namespaces/default", labels, media=MERGE)
    violated = 'existing pods in namespace "default" violate the new PodSecurity enforce level "baseline:latest"'
    assert (answer.code, answer.warnings) == (200, [violated, "p: host namespaces"])
