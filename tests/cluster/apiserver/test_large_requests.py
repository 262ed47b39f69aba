"""Large requests: they are computed beside the loop, lose no concurrent change, and none takes quadratic time."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from jobrelay.cluster.apiserver import heavy, writes

from .serving import CONFIGMAPS, Server, config

PODS = "/api/v1/namespaces/default/pods"
MERGE = "application/merge-patch+json"
LARGE = {"data": {"a": "x" * heavy.HEAVY}}


@pytest.mark.parametrize(("data", "beside"), [({"a": "x"}, False), (LARGE["data"], True)])
async def test_only_large_writes_leave_the_loop(
    server: Server, monkeypatch: pytest.MonkeyPatch, data: dict[str, str], beside: bool
) -> None:
    threads: list[int] = []
    create = writes.create

    def noting(*given: Any) -> bytes:
        threads.append(threading.get_ident())
        return create(*given)

    monkeypatch.setattr(writes, "create", noting)
    made = await server.ok("POST", CONFIGMAPS, {**config(), "data": data})
    assert made["data"] == data
    assert (threads[0] != threading.get_ident()) is beside


async def test_a_large_object_is_stored_with_its_version(server: Server) -> None:
    made = await server.ok("POST", CONFIGMAPS, {**config(), **LARGE})
    name, version = made["metadata"]["name"], made["metadata"]["resourceVersion"]
    assert int(version) == server.store.committed
    found = await server.ok("GET", f"{CONFIGMAPS}/{name}")
    assert found == made
    same = await server.ok("PATCH", f"{CONFIGMAPS}/{name}", {"data": {"a": LARGE["data"]["a"]}}, media=MERGE)
    assert same["metadata"]["resourceVersion"] == version


async def test_concurrent_patches_of_a_large_object_are_all_kept(server: Server) -> None:
    made = await server.ok("POST", CONFIGMAPS, {**config(), **LARGE})
    path = f"{CONFIGMAPS}/{made['metadata']['name']}"
    patches = [server.ok("PATCH", path, {"data": {f"k{n}": "x"}}, media=MERGE) for n in range(10)]
    await asyncio.gather(*patches)
    found = await server.ok("GET", path)
    assert {f"k{n}" for n in range(10)} <= found["data"].keys()


async def test_a_large_object_is_created_once(server: Server) -> None:
    answers = await asyncio.gather(*(server.call("POST", CONFIGMAPS, {**config(), **LARGE}) for _ in range(3)))
    assert sorted(answer.code for answer in answers) == [201, 409, 409]


async def test_a_write_whose_object_always_changes_is_computed_on_the_loop_in_the_end(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await server.ok("POST", CONFIGMAPS, {**config(), **LARGE})
    monkeypatch.setattr("jobrelay.cluster.store.staged.StagedStore.is_current", lambda self: False)
    path = f"{CONFIGMAPS}/{made['metadata']['name']}"
    assert (await server.ok("PATCH", path, {"data": {"b": "y"}}, media=MERGE))["data"]["b"] == "y"


async def test_large_objects_are_deleted_by_their_last_finalizer(server: Server) -> None:
    obj = {**config(), **LARGE}
    obj["metadata"] = {**obj["metadata"], "finalizers": ["x.example/f"]}
    made = await server.ok("POST", CONFIGMAPS, obj)
    path = f"{CONFIGMAPS}/{made['metadata']['name']}"
    await server.ok("DELETE", path)
    await server.ok("PATCH", path, {"metadata": {"finalizers": None}}, media=MERGE)
    assert (await server.call("GET", path)).code == 404


async def test_refusals_of_large_writes_are_those_of_small_ones(server: Server) -> None:
    answer = await server.call("POST", CONFIGMAPS, {**config("Not A Name"), **LARGE})
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")


@pytest.mark.parametrize("accept", ["application/yaml", "application/json;as=Table;g=meta.k8s.io;v=v1"])
async def test_long_answers_are_made_beside_the_loop(
    server: Server, monkeypatch: pytest.MonkeyPatch, accept: str
) -> None:
    for name in "abcde":
        await server.ok("POST", CONFIGMAPS, {**config(name), **LARGE})
    asked: list[Any] = []
    beside = heavy.beside

    async def noting(compute: Any) -> Any:
        asked.append(compute)
        return await beside(compute)

    monkeypatch.setattr(heavy, "beside", noting)
    listed = await server.call("GET", CONFIGMAPS, headers={"Accept": accept})
    assert (listed.code, len(asked)) == (200, 1)
    assert b"abcde"[4:] in listed.raw
    wrong = await server.call("GET", f"{CONFIGMAPS}?includeObject=x", headers={"Accept": accept})
    assert wrong.code == (400 if "Table" in accept else 200)
    assert (await server.call("GET", CONFIGMAPS)).code == 200
    assert len(asked) == 2


JSON_REVIEW = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", JSON_REVIEW),
        ("POST", f"{PODS}/p/binding", {"target": {"name": "n"}}),
        ("POST", f"{PODS}/p/eviction", {"metadata": {"name": "p"}}),
        ("POST", "/api/v1/namespaces/default/serviceaccounts/default/token", {"spec": {}}),
        ("DELETE", f"{CONFIGMAPS}/none", {"kind": "DeleteOptions", "apiVersion": "v1"}),
        ("PUT", "/apis/apps/v1/namespaces/default/deployments/d/scale", {"metadata": {"name": "d"}}),
    ],
)
async def test_every_large_body_is_read_beside_the_loop(
    server: Server, monkeypatch: pytest.MonkeyPatch, method: str, path: str, body: dict[str, Any]
) -> None:
    asked: list[Any] = []
    beside = heavy.beside

    async def noting(compute: Any) -> Any:
        asked.append(compute)
        return await beside(compute)

    monkeypatch.setattr(heavy, "beside", noting)
    small = await server.call(method, path, body)
    assert not asked
    large = await server.call(method, path, {**body, "padding": "x" * heavy.HEAVY})
    assert (large.code, len(asked)) == (small.code, 1)


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def repeated_env(count: int) -> dict[str, Any]:
    return pod(containers=[{"name": "c", "image": "i", "env": [{"name": "A", "value": "x"}] * count}])


def spread(count: int) -> dict[str, Any]:
    one = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    return pod(topologySpreadConstraints=[{**one, "topologyKey": f"k{n}"} for n in range(count)])


def aliases(count: int) -> dict[str, Any]:
    return pod(hostAliases=[{"ip": "1.1.1.1", "hostnames": ["a"]}] * count)


@pytest.mark.parametrize("make", [repeated_env, spread, aliases])
async def test_time_grows_with_the_size_and_not_with_its_square(make: Any) -> None:
    """Sixteen times as much takes far less than 256 times as long."""

    async def seconds(count: int) -> float:
        fastest = 1e9
        for _ in range(3):
            server, body = Server(), make(count)
            start = time.process_time()
            assert (await server.call("POST", PODS, body)).code == 201
            fastest = min(fastest, time.process_time() - start)
        return fastest

    assert await seconds(8000) < 80 * await seconds(500)
