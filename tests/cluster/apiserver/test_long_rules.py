"""Rules of custom resources that take long: nothing waits for them but writes like them."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from jobrelay.cluster.apiserver import heavy
from jobrelay.cluster.apiserver.errors import OPTIMISTIC_LOCK
from jobrelay.cluster.store.staged import StagedStore
from jobrelay.kinds.apiextensions.rules import RuleTree

from .serving import MERGE, Server
from .test_custom_resources import WIDGETS, define, widget

SLOW = 9


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the threads that evaluate rules; those of widgets of size 9 take more than a moment."""
    names: list[str] = []
    validate, clock = RuleTree.validate, [0.0]

    def noted(rules: RuleTree, new: Any, *others: Any) -> Any:
        names.append(threading.current_thread().name.partition("_")[0])
        clock[0] += 2 * heavy.MOMENT if new["spec"]["size"] == SLOW else 0
        return validate(rules, new, *others)

    monkeypatch.setattr(RuleTree, "validate", noted)
    monkeypatch.setattr("time.thread_time", lambda: clock[0])
    return names


async def test_rules_are_evaluated_beside_the_loop(server: Server, threads: list[str]) -> None:
    await define(server)
    await server.ok("POST", WIDGETS, widget(size=1))
    assert threads == ["large-requests"]


async def test_rules_that_take_long_have_a_thread_of_their_own(server: Server, threads: list[str]) -> None:
    await define(server)
    await server.ok("POST", WIDGETS, widget(size=SLOW))
    assert threads == ["large-requests", "long-rules"]
    assert (await server.ok("GET", f"{WIDGETS}/w"))["spec"] == {"size": SLOW}


async def test_other_writes_do_not_wait_for_rules_that_take_long(server: Server, threads: list[str]) -> None:
    await define(server)
    held = threading.Event()
    waiting = asyncio.create_task(heavy._run(heavy._RULES_THREAD, held.wait))
    slow = asyncio.create_task(server.ok("POST", WIDGETS, widget("slow", size=SLOW)))
    await server.ok("POST", WIDGETS, widget("quick", size=1))
    assert not slow.done()
    held.set()
    await waiting
    assert (await slow)["metadata"]["name"] == "slow"


async def test_concurrent_patches_are_all_kept(server: Server) -> None:
    await define(server)
    await server.ok("POST", WIDGETS, widget(size=1))
    patches = [{"metadata": {"labels": {f"k{n}": "x"}}} for n in range(10)]
    await asyncio.gather(*(server.ok("PATCH", f"{WIDGETS}/w", patch, media=MERGE) for patch in patches))
    found = await server.ok("GET", f"{WIDGETS}/w")
    assert len(found["metadata"]["labels"]) == 10


async def test_long_rules_never_run_on_the_loop(
    server: Server, threads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await define(server)
    await server.ok("POST", WIDGETS, widget(size=1))
    monkeypatch.setattr(StagedStore, "is_current", lambda self: False)
    answer = await server.call("PATCH", f"{WIDGETS}/w", {"spec": {"size": SLOW}}, media=MERGE)
    assert (answer.code, OPTIMISTIC_LOCK in answer.message) == (409, True)
    assert threading.current_thread().name not in threads


async def test_rules_end_when_a_request_would(
    server: Server, threads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await define(server)
    monkeypatch.setattr(heavy, "_TIMEOUT", -1.0)
    answer = await server.call("POST", WIDGETS, widget(size=SLOW))
    assert (answer.code, "operation interrupted evaluating rule: too big" in answer.message) == (422, True)
