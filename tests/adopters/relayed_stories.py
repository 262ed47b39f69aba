"""Stories of one delegated object each: what its original shows is what its mirrors showed, step by step."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from jobrelay.kube import Client, Object, Resource, merge_patch
from jobrelay.kube.resource import PODS
from jobrelay.workloads import Adapter
from jobrelay.workloads.declared import paths
from jobrelay.workloads.declared.description import Suspension
from jobrelay.workloads.declared.predicates import holds

from .following import SECONDS, Following, told
from .managers import Obj
from .relayed import RelayedKind
from .steps import invented
from .story import NAMESPACE

AGAIN_SECONDS: Final = 0.5


@dataclass(frozen=True)
class Delegated:
    """One object on its way: its kind, its name, where its original and its mirrors are seen."""

    relayed: RelayedKind
    adapter: Adapter
    name: str
    home: Following
    worker: Following

    @property
    def resource(self) -> Resource:
        return self.adapter.resource

    async def create(self, script: str, *, suspended: bool = False, on: str = "", prefers: str = "") -> None:
        body = self.relayed.made(self.name, script, on=on, prefers=prefers)
        rule = self.relayed.description.suspension
        if suspended and rule is not None:
            paths.put(paths.plain(rule.path), body, rule.suspended)
        await self.home.client.create(self.resource, body)

    async def suspend(self, rule: Suspension, *, suspended: bool) -> None:
        await self.change(rule.path, rule.suspended if suspended else rule.running)

    async def change(self, path: str, value: object) -> None:
        patch: Obj = {}
        paths.put(paths.plain(path), patch, value)
        await self.home.client.patch(self.resource, self.name, merge_patch(patch), NAMESPACE)

    async def shows(self, reached: Callable[[Object], bool], what: str) -> Object:
        """Wait until the original is as it is to be."""
        return await self.home.until(self.resource, self.name, reached, what)

    async def has_mirror(self, reached: Callable[[Object], bool], what: str) -> Object:
        return await self.worker.until(self.resource, self.name, reached, what)

    def running(self, obj: Object) -> bool:
        return self.relayed.is_running(self.adapter, obj)

    async def runs(self, *, uid: str = "") -> None:
        """Wait until a mirror runs, another one than that with the uid, and the original shows what it shows."""

        def running() -> bool:
            mirror = self.worker.present(self.resource, self.name)
            if mirror is None or mirror.uid == uid or mirror.deleting or not self.running(mirror):
                return False
            mine, theirs = (each.all(self.resource, self.name)[-1:] for each in (self.home, self.worker))
            return bool(mine) and mine[0].status == theirs[0].status

        await self.home.wait(running, lambda: f"{self.name} does not run: {self.told()}")

    async def gone(self) -> None:
        """Wait until neither original nor mirror nor pods are left."""
        await self.home.gone(self.resource, self.name)
        await self.worker.gone(self.resource, self.name)
        await no_pods(self.worker.client, self.name)

    async def delete(self) -> None:
        await self.home.client.delete(self.resource, self.name, NAMESPACE, propagation="Background")

    async def check(self, *others: Following, since: int = 0) -> None:
        """That nothing was invented, from one of the shown statuses on; mirrors were on the other workers before."""

        def had() -> list[Obj]:
            return [status for each in (*others, self.worker) for status in each.statuses(self.resource, self.name)]

        def shown() -> list[Obj]:
            return self.home.statuses(self.resource, self.name)[since:]

        await self.home.wait(
            lambda: shown() != [] and shown()[-1] == had()[-1],
            lambda: f"{self.name} has shown {shown()}\nof {had()}",
        )
        strange = invented(shown(), had())
        assert strange is None, f"{self.name} has shown {strange}\namong {shown()}\nof {had()}"

    def told(self) -> str:
        found = [each.present(self.resource, self.name) for each in (self.home, self.worker)]
        return "\n".join(map(told, found))


async def no_pods(client: Client, name: str) -> None:
    """Wait until no pod is left whose name begins with that of its workload."""

    async def found() -> list[str]:
        names = [each.name for each in (await client.list(PODS, NAMESPACE)).items]
        return [each for each in names if each.startswith(f"{name}-")]

    async with asyncio.timeout(SECONDS):
        while await found():
            await asyncio.sleep(AGAIN_SECONDS)


async def succeeds(it: Delegated) -> None:
    """It is taken to its end; what its manager changes later is shown, but not what the removal of the mirror does."""
    await it.create("succeeds" if it.relayed.ends else "lasts", on=it.worker.where)
    if it.relayed.ends:
        await it.shows(lambda obj: _succeeded(it, obj), "succeeded")
        await it.worker.gone(it.resource, it.name)
    else:
        await it.runs()
    await it.check()
    await it.delete()
    await it.gone()


async def fails(it: Delegated) -> None:
    await it.create("fails", on=it.worker.where)
    await it.shows(lambda obj: it.relayed.has_failed(it.adapter, obj), "failed")
    if it.relayed.ends:
        await it.worker.gone(it.resource, it.name)
    await it.check()
    await it.delete()
    await it.gone()


async def pauses(it: Delegated) -> None:
    """It is suspended before and after its start, resumed each time, and deleted while it runs."""
    rule = it.relayed.description.suspension
    assert rule is not None
    await it.create("lasts", suspended=True, on=it.worker.where)
    if rule.status or rule.condition is not None:
        await it.shows(lambda obj: "status" in obj.decode(), "suspended")
    own = len(it.home.statuses(it.resource, it.name))
    assert it.worker.present(it.resource, it.name) is None
    await it.suspend(rule, suspended=False)
    await it.runs()
    if not rule.before_start_only:
        await it.suspend(rule, suspended=True)
        await it.has_mirror(lambda obj: it.adapter.read(obj).suspended, "suspended")
        if rule.halted != ():
            await it.shows(lambda obj: holds(rule.halted, obj.decode()), "suspended")
        await it.suspend(rule, suspended=False)
        await it.has_mirror(lambda obj: not it.adapter.read(obj).suspended, "resumed")
        await it.runs()
    await it.check(since=own)
    await it.delete()
    await it.gone()


async def loses_its_mirror(it: Delegated) -> None:
    """Somebody deletes the mirror on its worker: it is created again there, and shows nothing of its deletion."""
    await it.create("lasts", on=it.worker.where)
    await it.runs()
    first = it.worker.present(it.resource, it.name)
    assert first is not None
    await it.worker.client.delete(it.resource, it.name, NAMESPACE, propagation="Background")
    await it.runs(uid=first.uid)
    await it.check()
    await it.delete()
    await it.gone()


STORIES: Final = {each.__name__: each for each in (succeeds, fails, pauses, loses_its_mirror)}


def stories_of(kind: RelayedKind) -> list[str]:
    """The stories that can happen to a kind: a RayService does not fail."""
    return [name for name in STORIES if name != fails.__name__ or kind.can_fail]


def _succeeded(it: Delegated, obj: Any) -> bool:
    end = it.adapter.read(obj).end
    return end is not None and end.succeeded
