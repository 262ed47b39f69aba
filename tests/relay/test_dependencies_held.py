"""The copies on one worker: made once, kept while they are pinned, and made again if they were just removed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from jobrelay.kube import AlreadyExists, FakeClock, NotFound, Object
from jobrelay.kube.errors import Status
from jobrelay.kube.objects import ObjectList, decode_object
from jobrelay.kube.resource import JOBS
from jobrelay.relay.copy_rules import parse_rules
from jobrelay.relay.copying.held import HeldCopies
from jobrelay.relay.copying.sweeping import CopySweep
from jobrelay.relay.dependencies.copies import Copy, make_copy
from jobrelay.relay.dependencies.renaming import COPIES
from jobrelay.relay.metrics import RelayMetrics
from jobrelay.relay.proofs import ProofKeys
from jobrelay.relay.settings import Settings
from jobrelay.relay.workers.proving import Proofs
from jobrelay.workloads import JobAdapter, ObjectName
from tests.relay.test_dependencies import SETTINGS
from tests.relay.test_dependencies_names import obj

KEYS = ProofKeys([b"k" * 32])


class OneNamespace:
    """A client of a worker whose deletions wait for `deletes`."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.requests: list[str] = []
        self.deletes = asyncio.Event()
        self.deletes.set()

    async def create(self, resource: Any, body: dict[str, Any], **more: Any) -> Object:
        name = body["metadata"]["name"]
        self.requests.append("create")
        if name in self.objects:
            raise AlreadyExists(Status(code=409))
        metadata = body["metadata"] | {"uid": f"u{len(self.requests)}", "resourceVersion": "1"}
        self.objects[name] = decode_object(msgspec.json.encode(body | {"metadata": metadata}))
        return self.objects[name]

    async def get(self, resource: Any, name: str, namespace: str) -> Object:
        self.requests.append("get")
        if name not in self.objects:
            raise NotFound(Status(code=404))
        return self.objects[name]

    async def list_metadata(self, resource: Any, namespace: str | None, **more: Any) -> ObjectList:
        self.requests.append("list")
        return ObjectList(tuple(self.objects.values()), "1")

    async def delete(self, resource: Any, name: str, namespace: str, *, uid: str, resource_version: str) -> None:
        self.requests.append("delete")
        await self.deletes.wait()
        assert self.objects.pop(name).uid == uid


class Mirrors(dict[Any, Any]):
    """The caches of a worker: Jobs in one namespace, or in all."""

    def __init__(self) -> None:
        self.seen = True
        super().__init__({JOBS: Jobs()})

    def sees(self, resource: Any, namespace: str) -> bool:
        return self.seen


class Jobs(list[Object]):
    def __init__(self) -> None:
        super().__init__()
        self.unproven = list[Object]()


class Setting:
    """One worker, and the copies on it."""

    def __init__(self) -> None:
        self.clock, self.client, self.mirrors = FakeClock(), OneNamespace(), Mirrors()
        self.may_run = True
        worker: Any = SimpleNamespace(
            name="a",
            client=self.client,
            facts=lambda: SimpleNamespace(identity="cluster-uid"),
            mirrors=self.mirrors,
            connected=True,
            connected_since=0.0,
            spec=SimpleNamespace(namespaces=()),
        )
        self.worker = worker
        self.copies = HeldCopies(worker, Proofs("tests", KEYS), self.clock, RelayMetrics())
        self.copy: Copy = make_copy(obj("settings", data={"a": "1"}), SETTINGS, KEYS, "tests", "cluster-uid")

    @property
    def target(self) -> ObjectName:
        return self.copy.target

    async def ensure(self) -> None:
        with self.copies.pinned(self.target):
            await self.copies.ensure(self.copy)


async def test_a_copy_is_made_once_and_looked_at_again_after_a_minute() -> None:
    it = Setting()
    for _ in range(3):
        await it.ensure()
    assert it.client.requests == ["create"]
    await it.clock.advance(61)
    await it.ensure()
    assert it.client.requests == ["create", "create", "get"]
    it.client.objects.clear()
    await it.clock.advance(61)
    await it.ensure()
    assert it.target.name in it.client.objects


async def test_it_is_unused_only_after_the_whole_grace_without_a_user() -> None:
    it = Setting()
    await it.ensure()
    assert it.copies.unused(set(), 10) == []
    await it.clock.advance(9)
    assert it.copies.unused({it.target}, 10) == []
    assert it.copies.unused(set(), 10) == []
    await it.clock.advance(9)
    it.copies.out_of_sight()
    assert it.copies.unused(set(), 10) == []
    await it.clock.advance(10)
    assert it.copies.unused(set(), 10) == [it.target]


async def test_a_pinned_copy_is_neither_unused_nor_removed() -> None:
    it = Setting()
    await it.ensure()
    it.copies.unused(set(), 10)
    await it.clock.advance(10)
    with it.copies.pinned(it.target):
        await it.copies.remove(it.target)
        assert it.copies.unused(set(), 10) == []
    assert "delete" not in it.client.requests


async def test_a_copy_that_is_being_removed_is_made_again_for_its_next_user() -> None:
    it = Setting()
    await it.ensure()
    it.client.deletes.clear()
    removal = asyncio.create_task(it.copies.remove(it.target))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    user = asyncio.create_task(it.ensure())
    await asyncio.sleep(0)
    assert it.client.requests == ["create", "get", "delete"]
    it.client.deletes.set()
    await asyncio.gather(removal, user)
    assert it.client.requests[3:] == ["create"]
    assert it.target.name in it.client.objects
    assert list(it.copies) == [it.target]


async def test_an_object_that_took_the_place_of_a_copy_is_not_removed() -> None:
    it = Setting()
    await it.ensure()
    mine = it.client.objects[it.target.name]
    forged = mine.decode() | {"data": {"a": "2"}}
    it.client.objects[it.target.name] = decode_object(msgspec.json.encode(forged))
    await it.copies.remove(it.target)
    assert it.target.name in it.client.objects
    assert list(it.copies) == []


async def test_copies_that_are_not_listed_any_more_are_forgotten_and_others_are_found() -> None:
    it = Setting()
    await it.ensure()
    other = it.target._replace(name="other-1")
    it.copies.listed([it.target], {other: "u9"})
    assert list(it.copies) == [other]
    it.copies.listed([], {it.target: "u1"})
    assert set(it.copies) == {other, it.target}


# Sweeping


def uses(it: Setting) -> Object:
    """A mirror that uses the copy."""
    listed = f'{{"ConfigMap/settings": "{it.target.name}"}}'
    return obj("mirror", metadata={"annotations": {COPIES: listed}})


def out_of_sight(it: Setting) -> None:
    it.mirrors.seen = False


def used(it: Setting) -> None:
    it.mirrors[JOBS].append(uses(it))


def used_by_unproven(it: Setting) -> None:
    it.mirrors[JOBS].unproven.append(uses(it))


def out_of_reach(it: Setting) -> None:
    it.worker.connected = False


async def swept(it: Setting) -> bool:
    """Whether the copy is removed in some minutes."""
    state: Any = SimpleNamespace(
        settings=Settings("tests", copies=parse_rules(["ConfigMap"])),
        clock=it.clock,
        kinds={"jobs.batch": SimpleNamespace(adapter=JobAdapter())},
        may_run_on=lambda kind, worker, namespace: it.may_run,
    )
    sweep = CopySweep(it.worker, it.copies, state)
    running = asyncio.create_task(sweep.run())
    await it.clock.advance(400)
    running.cancel()
    return it.target.name not in it.client.objects


@pytest.mark.parametrize("reason", [out_of_sight, used, used_by_unproven, out_of_reach])
async def test_a_copy_stays_while_it_is_or_may_be_in_use(reason: Callable[[Setting], None]) -> None:
    it = Setting()
    await it.ensure()
    reason(it)
    assert not await swept(it)


async def test_a_copy_goes_if_nothing_can_run_where_mirrors_are_out_of_sight() -> None:
    it = Setting()
    await it.ensure()
    out_of_sight(it)
    it.may_run = False
    assert await swept(it)


async def test_a_copy_that_an_earlier_process_made_is_found_and_removed() -> None:
    it = Setting()
    await it.client.create(None, it.copy.body)
    assert list(it.copies) == []
    assert await swept(it)
    assert it.client.requests == ["create", "list", "get", "delete"]
