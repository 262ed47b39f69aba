"""What happens to a write while it waits for webhooks, and to other writes meanwhile."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from jobrelay.cluster.apiserver import storage
from jobrelay.cluster.controllers.garbage import GarbageCollector
from jobrelay.cluster.controllers.namespaces import NamespaceController

from .serving import APPLY, CONFIGMAPS, MERGE, Answer, Obj, Server, config
from .webhooks import Webhooks, allow, deny, rule, set_data, webhooks_of

SERVICES = "/api/v1/namespaces/default/services"
PATIENCE = 20.0  # seconds, of which none passes unless something is broken


@asynccontextmanager
async def waiting(webhooks: Webhooks, method: str, path: str, body: object = None, **more: str) -> AsyncIterator[Task]:
    """A request that waits for a webhook inside the block, and goes on after it."""
    gate = webhooks.hold()
    task = asyncio.create_task(webhooks.server.call(method, path, body, **more))
    await asyncio.wait_for(webhooks.waiting.wait(), PATIENCE)
    try:
        yield task
    finally:
        gate.set()
        await asyncio.wait([task])


Task = asyncio.Task[Answer]


async def until(server: Server, path: str, code: int) -> None:
    """Returns when a GET is answered by a code."""
    async with asyncio.timeout(PATIENCE):
        while (await server.call("GET", path)).code != code:
            await asyncio.sleep(0)


async def test_other_writes_do_not_wait(server: Server, webhooks: Webhooks) -> None:
    await webhooks.validating(allow)
    async with waiting(webhooks, "POST", CONFIGMAPS, config()) as slow:
        await server.ok("POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": "s"}})
        assert not slow.done()
        assert (await server.call("GET", f"{CONFIGMAPS}/a")).code == 404
    assert slow.result().code == 201


@pytest.mark.parametrize("kind", ["Mutating", "Validating"])
async def test_a_patch_meets_what_was_written_meanwhile(server: Server, webhooks: Webhooks, kind: str) -> None:
    await server.ok("POST", CONFIGMAPS, config(a="1"))
    await webhooks.register(kind, webhooks.hook(allow, objectSelector={"matchExpressions": [SLOW]}))
    change = {"data": {"b": "2"}, "metadata": {"labels": {"slow": "x"}}}
    async with waiting(webhooks, "PATCH", f"{CONFIGMAPS}/a", change, media=MERGE) as slow:
        await server.ok("PATCH", f"{CONFIGMAPS}/a", {"data": {"c": "3"}}, media=MERGE)
    assert slow.result().body["data"] == {"a": "1", "b": "2", "c": "3"}
    assert [told["oldObject"]["data"] for _, told in webhooks.told] == [{"a": "1"}, {"a": "1", "c": "3"}]


SLOW = {"key": "slow", "operator": "Exists"}


async def test_an_update_of_an_old_version_conflicts(server: Server, webhooks: Webhooks) -> None:
    made = await server.ok("POST", CONFIGMAPS, config(a="1"))
    await webhooks.validating(allow, objectSelector={"matchExpressions": [SLOW]})
    made["metadata"]["labels"] = {"slow": "x"}
    async with waiting(webhooks, "PUT", f"{CONFIGMAPS}/a", made) as slow:
        await server.ok("PATCH", f"{CONFIGMAPS}/a", {"data": {"c": "3"}}, media=MERGE)
    assert (slow.result().code, slow.result().reason) == (409, "Conflict")
    assert len(webhooks.told) == 1  # the version is compared before validating webhooks are asked again


async def test_an_update_of_any_version_is_tried_again(server: Server, webhooks: Webhooks) -> None:
    await server.ok("POST", CONFIGMAPS, config(a="1"))
    await webhooks.validating(allow, objectSelector={"matchExpressions": [SLOW]})
    async with waiting(webhooks, "PUT", f"{CONFIGMAPS}/a", config(labels={"slow": "x"}, b="2")) as slow:
        await server.ok("PATCH", f"{CONFIGMAPS}/a", {"data": {"c": "3"}}, media=MERGE)
    assert slow.result().body["data"] == {"b": "2"}
    assert len(webhooks.told) == 2


async def test_a_name_that_is_taken_meanwhile(server: Server, webhooks: Webhooks) -> None:
    await webhooks.mutating(allow, objectSelector={"matchExpressions": [SLOW]})
    async with waiting(webhooks, "POST", CONFIGMAPS, config(labels={"slow": "x"})) as slow:
        await server.ok("POST", CONFIGMAPS, config(b="2"))
    assert slow.result().reason == "AlreadyExists"
    assert (await server.ok("GET", f"{CONFIGMAPS}/a"))["data"] == {"b": "2"}


async def test_an_apply_of_what_is_created_meanwhile(server: Server, webhooks: Webhooks) -> None:
    await webhooks.mutating(allow, objectSelector={"matchExpressions": [SLOW]})
    path = f"{CONFIGMAPS}/a?fieldManager=me"
    async with waiting(webhooks, "PATCH", path, config(labels={"slow": "x"}, a="1"), media=APPLY) as slow:
        await server.ok("POST", CONFIGMAPS, config(b="2"))
    assert slow.result().code == 200
    assert slow.result().body["data"] == {"a": "1", "b": "2"}
    assert [told["operation"] for _, told in webhooks.told] == ["CREATE", "UPDATE"]


async def test_a_namespace_that_is_deleted_meanwhile(server: Server, webhooks: Webhooks) -> None:
    await server.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    await webhooks.mutating(allow)
    async with waiting(webhooks, "POST", "/api/v1/namespaces/n/configmaps", config()) as slow:
        await server.ok("DELETE", "/api/v1/namespaces/n")
    assert slow.result().code == 403
    assert slow.result().message.endswith("because it is being terminated")


async def test_a_deletion_of_what_is_changed_meanwhile(server: Server, webhooks: Webhooks) -> None:
    await server.ok("POST", CONFIGMAPS, config(a="1"))
    await webhooks.validating(allow, rules=[rule("configmaps", operations=["DELETE"])])
    async with waiting(webhooks, "DELETE", f"{CONFIGMAPS}/a") as slow:
        await server.ok("PATCH", f"{CONFIGMAPS}/a", {"data": {"c": "3"}}, media=MERGE)
    assert slow.result().code == 200
    assert [sorted(told["oldObject"]["data"]) for _, told in webhooks.told] == [["a"], ["a", "c"]]


async def test_a_deletion_of_what_is_gone_meanwhile(server: Server, webhooks: Webhooks) -> None:
    await server.ok("POST", CONFIGMAPS, config(a="1"))
    await webhooks.validating(allow, rules=[rule("configmaps", operations=["DELETE"])])
    async with waiting(webhooks, "DELETE", f"{CONFIGMAPS}/a") as slow:
        server.store.delete("configmaps", "default", "a", b"{}")
    assert slow.result().code == 404


async def test_services_that_wait_get_addresses_of_their_own(server: Server, webhooks: Webhooks) -> None:
    await webhooks.validating(allow, rules=[rule("services")])
    gate = webhooks.hold()
    bodies = [{"metadata": {"name": f"s{i}"}, "spec": {"ports": [{"port": 80}]}} for i in range(4)]
    tasks = [asyncio.create_task(server.ok("POST", SERVICES, body)) for body in bodies]
    await webhooks.waiting.wait()
    gate.set()
    made = await asyncio.gather(*tasks)
    assert len({service["spec"]["clusterIP"] for service in made}) == 4


@pytest.mark.parametrize("ticks", range(10))
async def test_a_request_that_ends_early_leaves_nothing_half_done(
    server: Server, webhooks: Webhooks, ticks: int
) -> None:
    await server.ok("POST", CONFIGMAPS, config(a="1"))
    await webhooks.register("Mutating", webhooks.hook(set_data("b", "2"), "b"))
    await webhooks.register("Validating", webhooks.hook(allow))
    change = {"data": {"c": "3"}}
    async with waiting(webhooks, "PATCH", f"{CONFIGMAPS}/a", change, media=MERGE) as slow:
        webhooks.gates["/hook"].set()
        for _ in range(ticks * 3):
            await asyncio.sleep(0)
        slow.cancel()
    await server.settle()
    assert (await server.ok("GET", f"{CONFIGMAPS}/a"))["data"] in ({"a": "1"}, {"a": "1", "b": "2", "c": "3"})
    await server.ok("PATCH", f"{CONFIGMAPS}/a", {"data": {"d": "4"}}, media=MERGE)


@pytest.mark.parametrize("order", list(itertools.permutations(("one", "two", "three"))))
@pytest.mark.parametrize("denying", [(), ("two",), ("one", "three")])
async def test_the_order_of_answers_decides_nothing(order: Sequence[str], denying: Sequence[str]) -> None:
    server = Server()
    async with webhooks_of(server) as webhooks:
        names = ("one", "two", "three")
        hooks = [webhooks.hook(deny(name) if name in denying else allow, name) for name in names]
        await webhooks.register("Validating", *hooks)
        gates = {name: webhooks.hold(name) for name in names}
        task = asyncio.create_task(server.call("POST", CONFIGMAPS, config(a="1")))
        async with asyncio.timeout(PATIENCE):
            while len(webhooks.told) < len(names):
                await asyncio.sleep(0)
        for name in order:
            gates[name].set()
            await asyncio.sleep(0)
        answer = await task
        stored = (await server.call("GET", f"{CONFIGMAPS}/a")).code == 200
    server.api.watches.close()
    assert (answer.code, stored) == ((403, False) if denying else (201, True))
    assert not denying or answer.message.endswith(f"request: {denying[0]}")


async def test_a_request_waits_no_longer_than_it_asks_for(server: Server, webhooks: Webhooks) -> None:
    await webhooks.mutating(allow)
    webhooks.hold()
    answer = await server.call("POST", f"{CONFIGMAPS}?timeout=50ms", config())
    assert (answer.code, answer.media) == (504, "text/plain; charset=utf-8")
    assert answer.message == "Timeout: request did not complete within the allotted timeout"
    assert (await server.call("GET", f"{CONFIGMAPS}/a")).code == 404


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
async def test_a_write_that_never_gets_through_ends(
    server: Server, webhooks: Webhooks, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    await server.ok("POST", CONFIGMAPS, config(a="1"))
    monkeypatch.setattr("jobrelay.cluster.apiserver.calls.REQUEST_SECONDS", 0.2)

    def meddle(request: Obj) -> Obj:
        fields = {"name": "a", "namespace": "default", "uid": "u", "creationTimestamp": None}
        storage.put(server.store, "configmaps", "default", "a", {"metadata": fields})
        return {}

    await webhooks.validating(meddle)
    answer = await server.call(
        method, f"{CONFIGMAPS}/a", {"data": {"b": "2"}} if method == "PATCH" else None, media=MERGE
    )
    assert (answer.code, answer.reason) == (504, "Timeout")


# Controllers that write within a tick.


def owned(owner: Obj) -> Obj:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": owner["metadata"]["uid"]}
    return {**config("b"), "metadata": {"name": "b", "ownerReferences": [reference]}}


async def test_the_garbage_collector_asks_and_asks_again(
    server: Server, webhooks: Webhooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobrelay.cluster.apiserver.calls._RETRY_SECONDS", 0)
    GarbageCollector(server.services).start()
    await server.ok("POST", CONFIGMAPS, owned(await server.ok("POST", CONFIGMAPS, config())))
    answers = iter([deny()({}), {}])

    def second_time(request: Obj) -> Obj:
        return next(answers) if request["name"] == "b" else {}

    await webhooks.validating(second_time, rules=[rule("configmaps", operations=["DELETE"])])
    await server.ok("DELETE", f"{CONFIGMAPS}/a")
    await until(server, f"{CONFIGMAPS}/b", 404)
    assert [told["name"] for _, told in webhooks.told] == ["a", "b", "b"]


async def test_an_owner_stays_until_its_orphans_are_let_go(
    server: Server, webhooks: Webhooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobrelay.cluster.controllers.garbage.RETRY", 0)
    GarbageCollector(server.services).start()
    await server.ok("POST", CONFIGMAPS, owned(await server.ok("POST", CONFIGMAPS, config())))
    await webhooks.mutating(allow, rules=[rule("configmaps", operations=["UPDATE"])])
    await server.ok("DELETE", f"{CONFIGMAPS}/a?propagationPolicy=Orphan")
    await until(server, f"{CONFIGMAPS}/a", 404)
    await server.settle()
    assert "ownerReferences" not in (await server.ok("GET", f"{CONFIGMAPS}/b"))["metadata"]


async def test_a_namespace_is_emptied_when_webhooks_allow_it(server: Server, webhooks: Webhooks) -> None:
    controller = NamespaceController(server.services, b"authority", delay=0)
    controller.start()
    await server.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    await server.settle()
    allowed = asyncio.Event()

    def when_allowed(request: Obj) -> Obj:
        return {"allowed": allowed.is_set() or request["kind"]["kind"] != "ServiceAccount"}

    rules = [rule("serviceaccounts", "configmaps", operations=["DELETE"])]
    await webhooks.validating(when_allowed, rules=rules)
    await server.ok("DELETE", "/api/v1/namespaces/n")
    async with asyncio.timeout(PATIENCE):
        while {told["kind"]["kind"] for _, told in webhooks.told} != {"ServiceAccount", "ConfigMap"}:
            await asyncio.sleep(0)
    assert (await server.ok("GET", "/api/v1/namespaces/n"))["status"]["phase"] == "Terminating"
    allowed.set()
    controller._timers.pop("n").cancel()  # rather than to wait for it
    async with asyncio.timeout(PATIENCE):
        while (await server.call("GET", "/api/v1/namespaces/n")).code != 404:
            controller._empty("n")
            await asyncio.sleep(0)
    controller.stop()


async def test_a_service_account_is_made_when_a_webhook_has_answered(server: Server, webhooks: Webhooks) -> None:
    controller = NamespaceController(server.services, b"authority")
    controller.start()
    await webhooks.mutating(allow, rules=[rule("serviceaccounts", operations=["CREATE"])])
    await server.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    await until(server, "/api/v1/namespaces/n/serviceaccounts/default", 200)
    controller.stop()
    assert webhooks.last["namespace"] == "n"
