"""The quota controller counts what a namespace uses, and gives back what it does not use any more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from jobrelay.cluster.controllers.quota import RESYNC, ResourceQuotaController

from ..apiserver.serving import CONFIGMAPS, MERGE, PODS, Obj, Server, config, pod

QUOTAS = "/api/v1/namespaces/default/resourcequotas"
pytestmark = pytest.mark.looptime


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.api.watches.close()


@asynccontextmanager
async def controlled(server: Server) -> AsyncIterator[None]:
    """Runs the controller; its timers belong to the test's own time."""
    controller = ResourceQuotaController(server.services)
    controller.start()
    yield
    controller.stop()


async def limit(server: Server, **hard: str) -> None:
    given = {key.replace("__", "."): text for key, text in hard.items()}
    await server.ok("POST", QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": given}})


async def status(server: Server) -> Obj:
    await asyncio.sleep(1)
    found: Obj = (await server.ok("GET", f"{QUOTAS}/q"))["status"]
    return found


async def test_a_new_quota_shows_what_is_used_already(server: Server) -> None:
    async with controlled(server):
        await server.ok("POST", PODS, pod("a"))
        await limit(server, pods="5", **{"count/configmaps": "9"})
        hard, used = {"pods": "5", "count/configmaps": "9"}, {"pods": "1", "count/configmaps": "1"}
        assert await status(server) == {"hard": hard, "used": used}


async def test_new_limits_are_taken_over(server: Server) -> None:
    async with controlled(server):
        await limit(server, pods="5")
        await status(server)
        await server.ok("PATCH", f"{QUOTAS}/q", {"spec": {"hard": {"pods": None, "secrets": "3"}}}, media=MERGE)
        assert await status(server) == {"hard": {"secrets": "3"}, "used": {"secrets": "0"}}


async def test_what_is_deleted_is_given_back(server: Server) -> None:
    async with controlled(server):
        await limit(server, configmaps="2")
        await status(server)
        await server.ok("POST", CONFIGMAPS, config("a"))
        assert (await status(server))["used"] == {"configmaps": "2"}
        await server.ok("DELETE", f"{CONFIGMAPS}/a")
        assert (await status(server))["used"] == {"configmaps": "1"}


async def test_a_pod_that_has_ended_is_given_back_except_as_an_object(server: Server) -> None:
    async with controlled(server):
        await limit(server, pods="2", **{"count/pods": "2"})
        await status(server)
        await server.ok("POST", PODS, pod("a"))
        await server.ok("PATCH", f"{PODS}/a/status", {"status": {"phase": "Succeeded"}}, media=MERGE)
        assert (await status(server))["used"] == {"pods": "0", "count/pods": "1"}


async def test_a_pod_that_comes_into_another_scope_moves_between_quotas(server: Server) -> None:
    async with controlled(server):
        for name, scope in (("q", "NotTerminating"), ("ending", "Terminating")):
            spec = {"hard": {"pods": "1"}, "scopes": [scope]}
            await server.ok("POST", QUOTAS, {"metadata": {"name": name}, "spec": spec})
        await status(server)
        await server.ok("POST", PODS, pod("a"))
        await server.ok("PATCH", f"{PODS}/a", {"spec": {"activeDeadlineSeconds": 9}}, media=MERGE)
        assert (await status(server))["used"] == {"pods": "0"}
        assert (await server.ok("GET", f"{QUOTAS}/ending"))["status"]["used"] == {"pods": "1"}


async def test_a_wrong_status_is_put_right_with_time(server: Server) -> None:
    async with controlled(server):
        await limit(server, pods="2")
        await status(server)
        await server.ok("PATCH", f"{QUOTAS}/q/status", {"status": {"used": {"pods": "7"}}}, media=MERGE)
        assert (await status(server))["used"] == {"pods": "7"}
        await asyncio.sleep(RESYNC)
        assert (await status(server))["used"] == {"pods": "0"}


async def test_a_wrong_status_is_put_right_at_the_start(server: Server) -> None:
    async with controlled(server):
        await limit(server, pods="2")
        await status(server)
        await server.ok("PATCH", f"{QUOTAS}/q/status", {"status": {"used": {"pods": "7"}}}, media=MERGE)
    async with controlled(server):
        assert (await status(server))["used"] == {"pods": "0"}


async def test_a_pod_whose_time_to_end_is_over_is_not_counted(server: Server) -> None:
    async with controlled(server):
        await limit(server, pods="2")
        await status(server)
        await server.ok("POST", PODS, pod("a", nodeName="n", terminationGracePeriodSeconds=30))
        await server.ok("DELETE", f"{PODS}/a")
        assert (await status(server))["used"] == {"pods": "1"}
        server.now += server.now.resolution * 61_000_000
        await asyncio.sleep(RESYNC)
        assert (await status(server))["used"] == {"pods": "0"}


async def test_resources_that_nothing_counts_have_no_use(server: Server) -> None:
    async with controlled(server):
        await limit(server, **{"count/things.example.com": "1", "example.com/other": "2"})
        assert (await status(server)) == {"hard": {"count/things.example.com": "1", "example.com/other": "2"}}


async def test_nothing_is_written_when_nothing_has_changed(server: Server) -> None:
    async with controlled(server):
        await limit(server, pods="2")
        await status(server)
        before = server.store.version
        await asyncio.sleep(3 * RESYNC)
        assert server.store.version == before


async def test_a_namespace_without_quotas_is_not_counted(server: Server) -> None:
    async with controlled(server):
        await limit(server, pods="2")
        await status(server)
        await server.ok("DELETE", f"{QUOTAS}/q")
        before = server.store.version
        await server.ok("POST", CONFIGMAPS, config("a"))
        await server.ok("DELETE", f"{CONFIGMAPS}/a")
        await asyncio.sleep(1)
        assert server.store.version == before + 2
