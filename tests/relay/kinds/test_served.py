"""Kinds come and go on the management cluster and on workers, and the relay follows."""

from __future__ import annotations

from msgspec.structs import replace

from jobrelay.kube import Object, Request, Response, Transport
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS
from jobrelay.relay.worker_assignment import assignment_of
from jobrelay.workloads import JobAdapter, Workload
from tests.relay.kinds.fleets import MANAGEMENT, Broken, KindsFleet, kinds_fleet
from tests.relay.kinds.renders import DONE, RENDERS, STARTED, RenderAdapter, definition, render

ALL = (MANAGEMENT, "worker-1", "worker-2")


async def _submit(it: KindsFleet, name: str = "trailer") -> None:
    await it.on(MANAGEMENT).create(RENDERS, render(name))


async def test_a_kind_that_is_served_from_the_start_is_run_and_finished() -> None:
    async with kinds_fleet(*ALL) as it:
        await _submit(it)
        place = str(await it.fleet.until(it.placed))
        await it.mirror(place)
        await it.write_status(place, STARTED)
        await it.status(phase="Running")
        await it.write_status(place, DONE)
        assert await it.status(phase="Done") == DONE


async def test_a_kind_that_is_installed_later_is_followed() -> None:
    async with kinds_fleet() as it:
        await it.explained("The relay does not run Renders: the management cluster does not serve renders")
        await it.define(*ALL)
        await _submit(it)
        await it.mirror(str(await it.fleet.until(it.placed)))


async def test_jobs_run_while_another_kind_is_not_served() -> None:
    async with kinds_fleet() as it:
        await it.fleet.submit()
        await it.fleet.finished()


async def test_mirrors_go_when_the_definition_on_the_management_cluster_does() -> None:
    async with kinds_fleet(*ALL) as it:
        await _submit(it)
        place = str(await it.fleet.until(it.placed))
        await it.mirror(place)
        await it.undefine(MANAGEMENT)
        await it.gone(place)
        await it.define(MANAGEMENT)
        await _submit(it)
        await it.mirror(str(await it.fleet.until(it.placed)))


async def test_a_worker_without_the_definition_is_unfit_for_that_kind_only() -> None:
    async with kinds_fleet(MANAGEMENT, "worker-2") as it:
        await _submit(it)
        await it.mirror("worker-2")
        found = await it.explained("it does not serve renders.film.example.com/v1")
        assert [(each.worker, each.ok) for each in found.workers] == [("worker-1", False), ("worker-2", True)]
        await it.fleet.submit(annotations={"jobrelay.dev/clusters": "worker-1"})
        await it.fleet.finished()


async def test_a_definition_that_is_installed_on_a_worker_is_used() -> None:
    async with kinds_fleet(MANAGEMENT) as it:
        await _submit(it)
        await it.explained("worker-1: it does not serve renders.film.example.com/v1")
        await it.define("worker-1")
        await it.mirror("worker-1")


async def test_a_version_that_is_not_served_is_waited_for() -> None:
    async with kinds_fleet(MANAGEMENT) as it:
        await it.define("worker-1", served=False)
        await _submit(it)
        await it.explained("worker-1: it does not serve renders.film.example.com/v1")
        found = await it.on("worker-1").get(CUSTOMRESOURCEDEFINITIONS, str(RENDERS))
        body = found.decode()
        body["spec"] = definition()["spec"] | {"conversion": body["spec"]["conversion"]}
        await it.on("worker-1").update(CUSTOMRESOURCEDEFINITIONS, body)
        await it.mirror("worker-1")


async def test_what_ran_on_a_worker_that_loses_the_definition_runs_elsewhere() -> None:
    async with kinds_fleet(MANAGEMENT, "worker-1") as it:
        await _submit(it)
        await it.mirror("worker-1")
        await it.define("worker-2")
        await it.undefine("worker-1")
        await it.mirror("worker-2")


async def test_a_restart_finds_the_mirror_and_starts_nothing_again() -> None:
    async with kinds_fleet(*ALL) as it:
        await _submit(it)
        place = str(await it.fleet.until(it.placed))
        before = await it.mirror(place)
        await it.fleet.kill()
        await it.write_status(place, STARTED)
        await it.fleet.start()
        await it.status(phase="Running")
        original, mirror = await it.get(MANAGEMENT), await it.get(place)
        assert original is not None
        assert mirror is not None
        to = assignment_of(original)
        assert to is not None
        assert (to.cluster, to.epoch, mirror.uid) == (place, 1, before.uid)


async def test_mirrors_that_were_left_behind_are_removed_although_the_kind_has_no_originals() -> None:
    async with kinds_fleet(MANAGEMENT, "worker-1") as it:
        await _submit(it)
        await it.mirror("worker-1")
        await it.fleet.kill()
        await it.on(MANAGEMENT).delete(RENDERS, "trailer", "default")
        await it.fleet.start()
        await it.gone("worker-1")


class _Watches:
    """Remembers which watches of a kind were opened, and refuses to show definitions if told so."""

    def __init__(self, inner: Transport, *, forbids: bool = False) -> None:
        self.inner, self.forbids = inner, forbids
        self.paths: list[str] = []

    async def send(self, request: Request) -> Response:
        path = request.path.partition("?")[0]
        self.paths.append(path)
        if self.forbids and "customresourcedefinitions" in path:
            body = b'{"kind":"Status","code":403,"reason":"Forbidden","message":"no"}'
            return Response(403, {}, body)
        return await self.inner.send(request)

    def count(self, text: str) -> int:
        return sum(text in path for path in self.paths)


async def test_a_kind_that_nobody_uses_costs_workers_nothing_after_one_look() -> None:
    async with kinds_fleet(*ALL, start=False) as it:
        seen = _Watches(it.fleet.links["worker-1"])
        it.fleet.links["worker-1"] = seen  # type: ignore[assignment]
        await it.fleet.start()
        assert it.fleet.relay is not None
        mirrors = it.fleet.relay.registry.workers["worker-1"].mirrors

        async def read() -> bool:
            return mirrors.is_read(RENDERS) and not any(part.connected for part in mirrors[RENDERS].parts)

        await it.fleet.until(read)
        assert seen.count("/renders") == 1
        await _submit(it)
        await it.mirror(str(await it.fleet.until(it.placed)))


async def test_a_kind_without_a_definition_costs_workers_one_look_at_their_definitions() -> None:
    async with kinds_fleet(start=False) as it:
        seen = _Watches(it.fleet.links["worker-1"])
        it.fleet.links["worker-1"] = seen  # type: ignore[assignment]
        await it.fleet.start()
        await it.fleet.submit()
        await it.fleet.finished()
        assert seen.count("customresourcedefinitions") == 1
        assert seen.count("/renders") == 0


async def test_discovery_is_polled_where_definitions_may_not_be_read() -> None:
    async with kinds_fleet(start=False) as it:
        it.fleet.home = _Watches(it.fleet.home, forbids=True)  # type: ignore[assignment]
        for name, link in it.fleet.links.items():
            it.fleet.links[name] = _Watches(link, forbids=True)  # type: ignore[assignment]
        await it.fleet.start()
        await it.define(*ALL)
        await _submit(it)
        await it.mirror(str(await it.fleet.until(it.placed)))


async def test_the_mirror_of_one_that_does_not_tell_when_it_ended_is_removed_after_a_while() -> None:
    async with kinds_fleet(MANAGEMENT, "worker-1", adapters=(JobAdapter(), Timeless()), keep_finished=0.3) as it:
        await _submit(it)
        await it.mirror("worker-1")
        await it.write_status("worker-1", DONE)
        await it.status(phase="Done")
        await it.gone("worker-1")


class Timeless(RenderAdapter):
    """Renders that tell how they ended, but not when."""

    def read(self, obj: Object) -> Workload:
        facts = super().read(obj)
        return replace(facts, end=replace(facts.end, at=None)) if facts.end is not None else facts


async def test_a_kind_that_a_worker_forbids_is_tried_again_now_and_then() -> None:
    async with kinds_fleet(*ALL, start=False) as it:
        seen = _Watches(Broken(it.fleet.links["worker-1"], 403, "Forbidden"))
        it.fleet.links["worker-1"] = seen  # type: ignore[assignment]
        await it.fleet.start()
        await it.fleet.submit()
        await it.fleet.finished()
        assert seen.count("/renders") < 20
