"""A kind in trouble harms no other, and what cannot be seen is never taken for gone."""

from __future__ import annotations

from typing import Any

from jobrelay.kube import Object, merge_patch
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS
from jobrelay.relay.worker_assignment import assignment_of
from jobrelay.workloads import JobAdapter, Workload
from tests.relay.kinds.fleets import MANAGEMENT, Broken, KindsFleet, kinds_fleet
from tests.relay.kinds.renders import RENDERS, STARTED, RenderAdapter, render

ALL = (MANAGEMENT, "worker-1", "worker-2")


async def _running(it: KindsFleet) -> str:
    """Submit a Render, and have it started; where it is."""
    await it.on(MANAGEMENT).create(RENDERS, render())
    place = str(await it.fleet.until(it.placed))
    await it.mirror(place)
    await it.write_status(place, STARTED)
    await it.status(phase="Running")
    return place


async def serve(it: KindsFleet, worker: str, *, served: bool) -> None:
    found = (await it.on(worker).get(CUSTOMRESOURCEDEFINITIONS, str(RENDERS))).decode()
    versions: list[dict[str, Any]] = [found["spec"]["versions"][0] | {"served": served}]
    patch = merge_patch({"spec": {"versions": versions}})
    await it.on(worker).patch(CUSTOMRESOURCEDEFINITIONS, str(RENDERS), patch)


async def _epoch(it: KindsFleet) -> int:
    original = await it.get(MANAGEMENT)
    to = assignment_of(original) if original is not None else None
    assert to is not None
    return to.epoch


async def test_what_a_worker_does_not_show_any_more_is_not_started_elsewhere() -> None:
    async with kinds_fleet(*ALL) as it:
        place = await _running(it)
        await serve(it, place, served=False)
        await it.explained(f"It was last seen on {place}, but now it does not serve renders.film.example.com/v1")
        await it.fleet.submit()
        await it.fleet.finished()
        assert await _epoch(it) == 1
        await serve(it, place, served=True)
        await it.write_status(place, {"frames": 9})
        await it.status(frames=9)


async def test_what_was_deleted_with_a_definition_that_was_not_served_any_more_runs_elsewhere() -> None:
    async with kinds_fleet(*ALL) as it:
        place = await _running(it)
        other = next(name for name in it.fleet.workers if name != place)
        await serve(it, place, served=False)
        await it.explained(f"It was last seen on {place}")
        await it.undefine(place)
        await it.mirror(other)


async def test_mirrors_stay_while_the_management_cluster_does_not_serve_their_kind_and_go_with_its_definition() -> None:
    async with kinds_fleet(*ALL) as it:
        place = await _running(it)
        await serve(it, MANAGEMENT, served=False)
        await it.fleet.submit()
        await it.fleet.finished()
        assert await it.get(place) is not None
        await it.undefine(MANAGEMENT)
        await it.gone(place)


async def test_a_restart_does_not_start_a_second_run_beside_one_that_it_cannot_see() -> None:
    async with kinds_fleet(*ALL) as it:
        place = await _running(it)
        other = next(name for name in it.fleet.workers if name != place)
        await it.fleet.kill()
        await serve(it, place, served=False)
        await it.fleet.start()
        await it.explained(f"It starts on {other} when run 1 on {place} is gone: {place} does not serve it at present")
        assert await it.get(other) is None
        await serve(it, place, served=True)
        await it.mirror(other)
        assert await it.get(place) is None


async def test_a_kind_that_a_worker_cannot_show_does_not_keep_it_from_running_jobs() -> None:
    async with kinds_fleet(*ALL, workers=2, start=False) as it:
        broken = Broken(it.fleet.links["worker-1"])
        it.fleet.links["worker-1"] = broken  # type: ignore[assignment]
        await it.fleet.start()
        await it.on(MANAGEMENT).create(RENDERS, render())
        await it.mirror("worker-2")
        await it.explained("its renders.film.example.com cannot be read: it answers with 500: conversion failed")
        await it.fleet.submit(annotations={"jobrelay.dev/clusters": "worker-1"})
        await it.fleet.finished()


async def test_originals_that_cannot_be_read_hold_up_no_jobs_and_their_mirrors_stay() -> None:
    async with kinds_fleet(*ALL) as it:
        place = await _running(it)
        await it.fleet.kill()
        home = it.fleet.home
        broken = Broken(home)
        it.fleet.home = broken  # type: ignore[assignment]
        await it.fleet.start()
        await it.fleet.submit()
        await it.fleet.finished()
        assert await it.get(place) is not None
        broken.code = 0
        await it.write_status(place, {"frames": 11})
        await it.status(frames=11)
        assert await _epoch(it) == 1


async def test_a_kind_that_the_relay_may_not_read_is_told_to_be_so() -> None:
    async with kinds_fleet(*ALL, start=False) as it:
        it.fleet.home = Broken(it.fleet.home, 403, "Forbidden")  # type: ignore[assignment]
        await it.fleet.start()
        await it.on(MANAGEMENT).create(RENDERS, render())
        await it.explained("The relay does not run Renders: it forbids this (403): conversion failed")
        await it.fleet.submit()
        await it.fleet.finished()


class Delicate(RenderAdapter):
    """An adapter that cannot stand some phase."""

    def read(self, obj: Object) -> Workload:
        if obj.decode().get("status", {}).get("phase") == "Strange":
            raise ValueError("strange phase")
        return super().read(obj)


async def test_an_adapter_that_fails_on_an_original_ends_only_its_own_kind() -> None:
    async with kinds_fleet(*ALL, adapters=(JobAdapter(), Delicate())) as it:
        place = await _running(it)
        await it.on(MANAGEMENT).create(RENDERS, render("other", managed_by=None))
        await it.write_status(MANAGEMENT, {"phase": "Strange"}, "other")
        await it.fleet.submit()
        await it.fleet.finished()
        assert await it.get(place) is not None
        await it.on(MANAGEMENT).delete(RENDERS, "other", "default")
        await it.write_status(place, {"frames": 12})
        await it.status(frames=12)


async def test_an_adapter_that_fails_on_a_mirror_makes_the_worker_unfit_for_its_kind_only() -> None:
    async with kinds_fleet(*ALL, adapters=(JobAdapter(), Delicate())) as it:
        place = await _running(it)
        await it.write_status(place, {"phase": "Strange"})

        async def unfit() -> bool:
            assert it.fleet.relay is not None
            return "its adapter failed" in it.fleet.relay.registry.workers[place].mirrors.unfit.get(str(RENDERS), "")

        await it.fleet.until(unfit)
        await it.fleet.submit(annotations={"jobrelay.dev/clusters": place})
        await it.fleet.finished()
        await it.write_status(place, {"phase": "Running", "frames": 13})
        await it.status(frames=13)
