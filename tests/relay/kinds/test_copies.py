"""Copies that mirrors of a kind may use stay while that kind cannot be read, here or on the management cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from jobrelay.kube import Object
from jobrelay.kube.resource import CONFIGMAPS
from jobrelay.relay.copy_rules import parse_rules
from jobrelay.relay.copying.sweeping import all_in_sight
from jobrelay.relay.dependencies.copies import COPY
from jobrelay.workloads import JobAdapter, Reference
from jobrelay.workloads.adapter import NOTHING_FOUND, Found
from tests.relay.kinds.fleets import MANAGEMENT, Broken, KindsFleet, kinds_fleet
from tests.relay.kinds.renders import RENDERS, RenderAdapter, render
from tests.relay.test_dependencies import put

PLACE = ("spec", "settings")


class NamesSettings(RenderAdapter):
    """Renders that name a ConfigMap."""

    def references(self, original: Object, found: Found = NOTHING_FOUND) -> tuple[Reference, ...]:
        name = original.decode()["spec"].get("settings", "")
        return (Reference(CONFIGMAPS, name, original.namespace, paths=(PLACE,)),) if name else ()


async def copied(it: KindsFleet) -> list[str]:
    found = await it.on("worker-1").list(CONFIGMAPS, "default", label_selector=COPY)
    return [each.name for each in found.items]


@asynccontextmanager
async def render_with_a_copy() -> AsyncIterator[KindsFleet]:
    """The mirror of a Render uses a copy on the only worker; the relay is down, and a Job's copy is not in use."""
    rules = parse_rules(["ConfigMap"])
    adapters = (JobAdapter(), NamesSettings())
    settings = {"copies": rules, "copy_grace": 0.4, "keep_finished": 0.0}
    async with kinds_fleet(MANAGEMENT, "worker-1", workers=1, adapters=adapters, **settings) as it:
        await put(it.fleet, "home", settings="fast")
        await it.on(MANAGEMENT).create(RENDERS, render(settings="settings"))
        await it.mirror()
        assert len(await copied(it)) == 1
        await it.fleet.kill()
        yield it


def management_is_broken(it: KindsFleet) -> None:
    it.fleet.home = Broken(it.fleet.home)  # type: ignore[assignment]


def management_forbids(it: KindsFleet) -> None:
    it.fleet.home = Broken(it.fleet.home, 403, "Forbidden")  # type: ignore[assignment]


def worker_is_broken(it: KindsFleet) -> None:
    it.fleet.links["worker-1"] = Broken(it.fleet.links["worker-1"])  # type: ignore[assignment]


def worker_forbids(it: KindsFleet) -> None:
    it.fleet.links["worker-1"] = Broken(it.fleet.links["worker-1"], 403, "Forbidden")  # type: ignore[assignment]


@pytest.mark.parametrize("trouble", [management_is_broken, management_forbids])
async def test_a_copy_stays_while_the_originals_of_its_users_cannot_be_read(
    trouble: Callable[[KindsFleet], None],
) -> None:
    async with render_with_a_copy() as it:
        (before,) = await copied(it)
        trouble(it)
        await it.fleet.start()
        await it.on(MANAGEMENT).create(CONFIGMAPS, {"metadata": {"name": "other", "namespace": "default"}})
        env = [{"configMapRef": {"name": "other"}}]
        pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox", "envFrom": env}]}
        await it.fleet.submit(template={"spec": pod})
        await it.fleet.finished()

        async def swept() -> bool:
            return not any(name.startswith("other-") for name in await copied(it))

        await it.fleet.until(swept)
        assert await copied(it) == [before]


@pytest.mark.parametrize("trouble", [worker_is_broken, worker_forbids])
async def test_a_copy_stays_while_its_users_are_out_of_sight(trouble: Callable[[KindsFleet], None]) -> None:
    async with render_with_a_copy() as it:
        trouble(it)
        await it.fleet.start()
        assert it.fleet.relay is not None
        await it.fleet.submit()
        await it.fleet.finished()
        worker, state = it.fleet.relay.registry.workers["worker-1"], it.fleet.relay.state
        assert not all_in_sight(worker, state, "default")
        assert all_in_sight(worker, state, "another")


async def test_a_kind_whose_originals_have_no_runs_there_hides_nothing() -> None:
    async with render_with_a_copy() as it:
        await it.on(MANAGEMENT).delete(RENDERS, "trailer", "default")
        worker_forbids(it)
        await it.fleet.start()

        async def unused() -> bool:
            return not await copied(it)

        await it.fleet.until(unused)
