"""Writes that do not fit a quota are refused, and the others are charged with the write itself."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jobrelay.cluster.store import StoreFailure
from jobrelay.cluster.store.backend import NoBackend
from jobrelay.cluster.store.staged import StagedStore

from .serving import CONFIGMAPS, MERGE, PODS, Obj, Server, config, pod

QUOTAS = "/api/v1/namespaces/default/resourcequotas"
SERVICES = "/api/v1/namespaces/default/services"


async def limit(server: Server, name: str = "q", scopes: list[str] | None = None, **hard: str) -> None:
    """A quota of which nothing is used, as the quota controller leaves it."""
    given = {key.replace("__", "."): text for key, text in hard.items()}
    spec = {"hard": given, **({"scopes": scopes} if scopes else {})}
    await server.ok("POST", QUOTAS, {"metadata": {"name": name}, "spec": spec})
    status = {"hard": given, "used": dict.fromkeys(given, "0")}
    await server.ok("PATCH", f"{QUOTAS}/{name}/status", {"status": status}, media=MERGE)


async def used(server: Server, name: str = "q") -> dict[str, str]:
    status: Obj = (await server.ok("GET", f"{QUOTAS}/{name}"))["status"]
    found: dict[str, str] = status["used"]
    return found


def sized(name: str, **requests: str) -> Obj:
    return pod(name, containers=[{"name": "c", "image": "i", "resources": {"requests": requests}}])


async def test_what_exceeds_a_quota_is_forbidden(server: Server) -> None:
    await limit(server, pods="1")
    await server.ok("POST", PODS, pod("a"))
    answer = await server.call("POST", PODS, pod("b"))
    why = "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"
    assert (answer.code, answer.message) == (403, f'pods "b" is forbidden: {why}')


async def test_writes_at_the_same_time_do_not_exceed_a_quota_together(server: Server) -> None:
    await limit(server, pods="5")
    answers = await asyncio.gather(*(server.call("POST", PODS, pod(f"p{n}")) for n in range(20)))
    assert sorted(answer.code for answer in answers) == [201] * 5 + [403] * 15
    assert await used(server) == {"pods": "5"}


async def test_a_large_write_is_charged_too(server: Server) -> None:
    await limit(server, **{"count/configmaps": "1"})
    large = {"text": "x" * 100_000}
    answers = await asyncio.gather(*(server.call("POST", CONFIGMAPS, config(f"c{n}", **large)) for n in range(3)))
    assert sorted(answer.code for answer in answers) == [201, 403, 403]
    assert await used(server) == {"count/configmaps": "1"}


async def test_what_happens_in_other_namespaces_does_not_outpace_a_large_write(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    await limit(server, **{"count/configmaps": "5"})
    elsewhere = QUOTAS.replace("default", "kube-system")
    attempts, is_current = [], StagedStore.is_current

    def noting(staged: StagedStore) -> bool:
        attempts.append(is_current(staged))
        return attempts[-1]

    monkeypatch.setattr(StagedStore, "is_current", noting)
    large = server.call("POST", CONFIGMAPS, config("c", text="x" * 100_000))
    other = server.call("POST", elsewhere, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}})
    answers = await asyncio.gather(large, other)
    assert ([answer.code for answer in answers], attempts) == ([201, 201], [True])


async def test_a_charge_that_cannot_be_stored_is_undone_with_its_write(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    await limit(server, pods="1")
    with monkeypatch.context() as broken:
        broken.setattr(NoBackend, "commit", _full)
        assert (await server.call("POST", PODS, pod("a"))).code == 500
    assert await used(server) == {"pods": "0"}
    await server.ok("POST", PODS, pod("a"))


def _full(*_: object) -> None:
    raise StoreFailure("the disk is full")


async def test_a_dry_run_is_checked_and_not_charged(server: Server) -> None:
    await limit(server, pods="1")
    await server.ok("POST", f"{PODS}?dryRun=All", pod("a"))
    assert await used(server) == {"pods": "0"}
    await server.ok("POST", PODS, pod("a"))
    assert (await server.call("POST", f"{PODS}?dryRun=All", pod("b"))).code == 403


async def test_a_create_that_fails_is_not_charged(server: Server) -> None:
    await limit(server, pods="2")
    await server.ok("POST", PODS, pod("a"))
    assert (await server.call("POST", PODS, pod("a"))).code == 409
    assert (await server.call("POST", PODS, pod("B"))).code == 422
    assert await used(server) == {"pods": "1"}


async def test_containers_must_say_what_a_quota_limits(server: Server) -> None:
    await limit(server, requests__cpu="1", limits__memory="1Gi")
    answer = await server.call("POST", PODS, pod("a"))
    why = "failed quota: q: must specify limits.memory for: main; requests.cpu for: main"
    assert (answer.code, answer.message) == (403, f'pods "a" is forbidden: {why}')


async def test_amounts_add_up_in_the_form_they_were_given(server: Server) -> None:
    await limit(server, requests__cpu="1", requests__memory="1Gi")
    for name in ("a", "b"):
        await server.ok("POST", PODS, sized(name, cpu="300m", memory="256Mi"))
    assert await used(server) == {"requests.cpu": "600m", "requests.memory": "512Mi"}
    answer = await server.call("POST", PODS, sized("c", cpu="500m", memory="1Gi"))
    exceeded = "requested: requests.cpu=500m,requests.memory=1Gi, used: requests.cpu=600m,requests.memory=512Mi"
    assert answer.message.endswith(f"{exceeded}, limited: requests.cpu=1,requests.memory=1Gi")


async def test_an_update_is_charged_for_what_grows(server: Server) -> None:
    await limit(server, **{"services.nodeports": "1"})
    spec: dict[str, Any] = {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]}
    await server.ok("POST", SERVICES, {"metadata": {"name": "s"}, "spec": spec})
    answer = await server.call("PATCH", f"{SERVICES}/s", {"spec": {"type": "NodePort"}}, media=MERGE)
    assert answer.message.endswith(
        "requested: services.nodeports=2, used: services.nodeports=0, limited: services.nodeports=1"
    )
    one = {"spec": {"type": "NodePort", "ports": [{"name": "a", "port": 80}]}}
    await server.ok("PATCH", f"{SERVICES}/s", one, media=MERGE)
    assert await used(server) == {"services.nodeports": "1"}


async def test_a_quota_counts_only_what_is_in_its_scopes(server: Server) -> None:
    await limit(server, scopes=["BestEffort", "NotTerminating"], pods="0")
    await server.ok("POST", PODS, sized("a", cpu="1"))
    await server.ok("POST", PODS, pod("b", activeDeadlineSeconds=5))
    assert (await server.call("POST", PODS, pod("c"))).code == 403


async def test_a_quota_whose_use_is_not_known_yet_refuses(server: Server) -> None:
    await limit(server, pods="1")
    await server.ok("PATCH", f"{QUOTAS}/q/status", {"status": {"used": None}}, media=MERGE)
    answer = await server.call("POST", PODS, pod("a"))
    assert answer.message == 'pods "a" is forbidden: status unknown for quota: q, resources: pods'


async def test_a_quota_without_a_status_is_not_enforced(server: Server) -> None:
    await server.ok("POST", QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}})
    await server.ok("POST", PODS, pod("a"))


async def test_events_are_not_counted(server: Server) -> None:
    await limit(server, **{"count/events": "0"})
    event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}}
    await server.ok("POST", "/api/v1/namespaces/default/events", event)


async def test_custom_resources_are_counted(server: Server) -> None:
    names = {"plural": "things", "singular": "thing", "kind": "Thing"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    body = {"metadata": {"name": "things.example.com"}, "spec": spec}
    await server.ok("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
    await server.settle()
    await limit(server, **{"count/things.example.com": "1"})
    things = "/apis/example.com/v1/namespaces/default/things"
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}
    await server.ok("POST", things, thing)
    assert (await server.call("POST", things, {**thing, "metadata": {"name": "b"}})).code == 403
