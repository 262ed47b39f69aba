"""Objects go when their owners are gone, in the way that the deletion asks for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from jobrelay.cluster.controllers.garbage import GarbageCollector

from ..apiserver.serving import Server
from ..apiserver.test_custom_resources import WIDGETS
from ..apiserver.test_custom_versions import OLD as OLD_WIDGETS
from ..apiserver.test_custom_versions import define_two
from ..apiserver.test_custom_versions import old as old_widget

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    GarbageCollector(made.services).start()
    yield made
    made.api.watches.close()


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def make(server: Server, name: str, *owners: dict[str, Any]) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name}
    if owners:
        metadata["ownerReferences"] = list(owners)
    answer = await server.call("POST", CONFIGMAPS, {"metadata": metadata})
    assert answer.code == 201, answer.body
    uid = answer.body["metadata"]["uid"]
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "blockOwnerDeletion": True}


async def names(server: Server) -> set[str]:
    await settle()
    return set((await server.call("GET", CONFIGMAPS)).names) - {"kube-root-ca.crt"}


async def delete(server: Server, name: str, policy: str) -> None:
    await server.call("DELETE", f"{CONFIGMAPS}/{name}", {"propagationPolicy": policy})


async def test_dependents_go_after_their_owner(server: Server) -> None:
    owner = await make(server, "owner")
    await make(server, "child", await make(server, "parent", owner))
    await delete(server, "owner", "Background")
    assert await names(server) == set()


async def test_dependents_go_before_their_owner(server: Server) -> None:
    await make(server, "child", await make(server, "owner"))
    await delete(server, "owner", "Foreground")
    assert await names(server) == set()


async def test_a_held_dependent_holds_its_owner(server: Server) -> None:
    owner = await make(server, "owner")
    body = {"metadata": {"name": "child", "finalizers": ["example.com/hold"], "ownerReferences": [owner]}}
    await server.call("POST", CONFIGMAPS, body)
    await delete(server, "owner", "Foreground")
    assert await names(server) == {"owner", "child"}
    await server.call(
        "PATCH", f"{CONFIGMAPS}/child", {"metadata": {"finalizers": None}}, media="application/merge-patch+json"
    )
    assert await names(server) == set()


async def test_orphans_stay_without_their_owner(server: Server) -> None:
    await make(server, "child", await make(server, "owner"))
    await delete(server, "owner", "Orphan")
    assert await names(server) == {"child"}
    child = (await server.call("GET", f"{CONFIGMAPS}/child")).body
    assert "ownerReferences" not in child["metadata"]


async def test_one_owner_that_is_left_keeps_a_dependent(server: Server) -> None:
    first, second = await make(server, "first"), await make(server, "second")
    await make(server, "child", first, second)
    await delete(server, "first", "Background")
    assert await names(server) == {"second", "child"}
    child = (await server.call("GET", f"{CONFIGMAPS}/child")).body
    assert [owner["name"] for owner in child["metadata"]["ownerReferences"]] == ["second"]


async def test_an_owner_that_never_was_keeps_nothing(server: Server) -> None:
    await make(server, "child", {"apiVersion": "v1", "kind": "ConfigMap", "name": "none", "uid": "u"})
    assert await names(server) == set()


async def test_an_owner_of_an_unknown_kind_is_left_to_others(server: Server) -> None:
    await make(server, "child", {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": "u"})
    assert await names(server) == {"child"}


async def test_what_was_there_before_the_start_is_known(server: Server) -> None:
    other = Server()
    owner = await make(other, "owner")
    await make(other, "child", owner)
    GarbageCollector(other.services).start()
    await delete(other, "owner", "Background")
    assert await names(other) == set()
    other.api.watches.close()


async def test_a_circle_of_owners_goes_as_a_whole(server: Server) -> None:
    first = await make(server, "first")
    third = await make(server, "third", await make(server, "second", first))
    change = {"metadata": {"ownerReferences": [third]}}
    await server.call("PATCH", f"{CONFIGMAPS}/first", change, media="application/merge-patch+json")
    await delete(server, "first", "Foreground")
    assert await names(server) == set()


async def test_an_owner_goes_when_its_dependent_no_longer_blocks_it(server: Server) -> None:
    owner = await make(server, "owner")
    body = {"metadata": {"name": "child", "finalizers": ["example.com/hold"], "ownerReferences": [owner]}}
    await server.call("POST", CONFIGMAPS, body)
    await delete(server, "owner", "Foreground")
    change = {"metadata": {"ownerReferences": [{**owner, "blockOwnerDeletion": False}]}}
    await server.call("PATCH", f"{CONFIGMAPS}/child", change, media="application/merge-patch+json")
    assert await names(server) == {"child"}


async def test_what_a_policy_refuses_to_delete_is_tried_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from ..apiserver.test_policies import BINDINGS, binding, enforce, policy, rule

    monkeypatch.setattr("jobrelay.cluster.controllers.garbage.RETRY", 0)
    await make(server, "child", await make(server, "owner"))
    check = "request.userInfo.username != 'system:kube-controller-manager'"
    await enforce(server, policy(check, rules=[rule("configmaps", operations=("DELETE",))]), binding())
    await delete(server, "owner", "Background")
    assert await names(server) == {"child"}
    await server.ok("DELETE", f"{BINDINGS}/b")
    await asyncio.sleep(0.01)
    assert await names(server) == set()


async def custom(server: Server, *owners: dict[str, Any]) -> dict[str, Any]:
    await define_two(server)
    metadata = {"name": "w", "ownerReferences": list(owners)}
    return await server.ok("POST", OLD_WIDGETS, {**old_widget(shared="s"), "metadata": metadata})


async def test_custom_resources_of_several_versions_go_with_their_owner(server: Server) -> None:
    await custom(server, await make(server, "owner"))
    await delete(server, "owner", "Background")
    await settle()
    assert (await server.call("GET", WIDGETS)).names == []


async def test_custom_resources_of_several_versions_become_orphans(server: Server) -> None:
    await custom(server, await make(server, "owner"))
    await delete(server, "owner", "Orphan")
    await settle()
    found = await server.ok("GET", f"{OLD_WIDGETS}/w")
    assert "ownerReferences" not in found["metadata"]
    assert found["spec"] == {"shared": "s"}
    item = server.store.get("widgets.x.example", "default", "w")
    assert item is not None
    assert b'"storedAs":"v1"' in item.raw
