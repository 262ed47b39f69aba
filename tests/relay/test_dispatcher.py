"""Which events queue which work, and what they change in the relay's state."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from jobrelay.kube import Cache, Client, Conflict, FakeClock, KubeError, Object, Status
from jobrelay.kube.objects import decode_object, encode
from jobrelay.kube.resource import JOBS
from jobrelay.relay.dispatcher import Dispatcher, MirrorQueue
from jobrelay.relay.durations import DurationRange
from jobrelay.relay.placement import CapacityTracker
from jobrelay.relay.placement.capacity import POD_OWNER
from jobrelay.relay.settings import Settings
from jobrelay.relay.signal import Signal
from jobrelay.relay.state import RelayState
from jobrelay.relay.workers.proving import MirrorProver, Site
from jobrelay.relay.workers.scoped_cache import ScopedCache
from jobrelay.relay.workload_kind import WorkloadKind, WorkloadRef
from tests.relay.proofs import known_proofs
from tests.relay.snapshots import ADAPTER, ORIGIN_OF_TESTS, complete, job, mirror, running

REF = WorkloadRef("jobs.batch", job().key)
CONFLICT = Conflict(Status(code=409, reason="Conflict"))


def _answered(answer: Object | KubeError) -> Object:
    if isinstance(answer, KubeError):
        raise answer
    return answer


class World:
    """A dispatcher over caches that a test fills, and two workers."""

    def __init__(self) -> None:
        self.originals = Cache(Client(None), JOBS)  # type: ignore[arg-type]
        self.kind = WorkloadKind(ADAPTER, self.originals)
        self.state = RelayState({self.kind.name: self.kind}, Settings(ORIGIN_OF_TESTS), FakeClock(), {})
        self.dispatcher = Dispatcher(self.state)
        self.mirrors: dict[str, ScopedCache] = {}
        self.queues: dict[str, MirrorQueue] = {}
        self.workers: dict[str, Any] = {}
        for name in "ab":
            prover = MirrorProver(known_proofs(ORIGIN_OF_TESTS), str(JOBS), lambda name=name: Site(name, "", False))
            client = Client(None)  # type: ignore[arg-type]
            self.mirrors[name] = ScopedCache(lambda namespace, client=client: Cache(client, JOBS), prover)
            self.workers[name] = SimpleNamespace(
                name=name,
                mirrors={JOBS: self.mirrors[name]},
                capacity=CapacityTracker(),
                is_self=False,
                missing_namespaces=SimpleNamespace(found=Signal()),
            )
            self.queues[name], _ = self.dispatcher.add_worker(self.workers[name])

    async def written(self, answer: Object | KubeError, *reported: Object) -> Object:
        """A write of the original; the watch reports these versions before the answer arrives."""
        for each in reported:
            self.originals.put(each)
        return _answered(answer)

    async def create(self, worker: str, answer: Object | KubeError, *reported: Object) -> None:
        """The creation of a mirror; the watch reports these versions before the answer arrives."""

        async def creation() -> Object:
            for each in reported:
                self.mirrors[worker].put(each)
            return _answered(answer)

        await self.queues[worker].create(REF, creation(), self.mirrors[worker].observe)

    async def queued(self) -> set[str]:
        """Take everything from the queues; the names of those that held the workload."""
        found = set()
        for name, queue in {"originals": self.dispatcher.originals, **self._mirror_queues()}.items():
            while len(queue):
                assert await queue.get() == REF
                queue.done(REF)
                found.add(name)
        return found

    def _mirror_queues(self) -> dict[str, Any]:
        return {name: queue.queue for name, queue in self.queues.items()}


@pytest.fixture
def world() -> World:
    return World()


async def test_a_new_original_is_queued_and_no_worker(world: World) -> None:
    world.originals.put(job())
    assert await world.queued() == {"originals"}


async def test_an_assignment_queues_the_mirror_of_its_worker(world: World) -> None:
    world.originals.put(job(cluster="a"))
    assert await world.queued() == {"originals", "a"}
    assert world.state.live("a") == 1


async def test_the_reply_to_an_own_write_queues_the_worker_but_not_the_original(world: World) -> None:
    world.originals.put(job())
    await world.queued()
    await world.dispatcher.write_original(world.kind, REF, world.written(job(cluster="a", version="11")))
    assert await world.queued() == {"a"}


async def test_an_own_write_that_the_watch_reports_before_its_reply_queues_the_worker_once(world: World) -> None:
    world.originals.put(job())
    await world.queued()
    ours = job(cluster="a", version="11")
    await world.dispatcher.write_original(world.kind, REF, world.written(ours, ours))
    assert await world.queued() == {"a"}


async def test_a_change_after_an_own_write_queues_the_original_when_the_reply_arrives(world: World) -> None:
    world.originals.put(job())
    await world.queued()
    ours, theirs = job(cluster="a", version="11"), job(cluster="a", version="12")
    await world.dispatcher.write_original(world.kind, REF, world.written(ours, ours, theirs))
    assert await world.queued() == {"originals", "a"}


async def test_a_change_during_an_own_write_that_fails_queues_the_original(world: World) -> None:
    world.originals.put(job())
    await world.queued()
    with pytest.raises(Conflict):
        await world.dispatcher.write_original(world.kind, REF, world.written(CONFLICT, job(version="11")))
    assert await world.queued() == {"originals"}


async def test_the_creation_of_a_mirror_does_not_queue_its_worker(world: World) -> None:
    world.originals.put(job(cluster="a"))
    await world.queued()
    await world.create("a", mirror())
    assert await world.queued() == {"originals"}


async def test_a_mirror_that_changes_while_it_is_created_queues_its_worker(world: World) -> None:
    world.originals.put(job(cluster="a"))
    await world.queued()
    stopped = {"conditions": [{"type": "Suspended", "status": "True"}]}
    await world.create("a", mirror(), mirror(), mirror(version="21", status=stopped))
    assert await world.queued() == {"originals", "a"}


async def test_a_mirror_that_is_seen_without_a_reply_queues_its_worker(world: World) -> None:
    world.originals.put(job(cluster="a"))
    await world.queued()
    with pytest.raises(Conflict):
        await world.create("a", CONFLICT, mirror())
    assert await world.queued() == {"originals", "a"}


@pytest.mark.parametrize(("deadline", "queued"), [(None, {"originals"}), (600, {"originals", "a"})])
async def test_the_start_of_a_mirror_concerns_its_worker_if_it_has_a_deadline(
    world: World, deadline: int | None, queued: set[str]
) -> None:
    world.originals.put(job(cluster="a"))
    world.mirrors["a"].put(mirror(activeDeadlineSeconds=deadline))
    await world.queued()
    world.mirrors["a"].put(mirror(activeDeadlineSeconds=deadline, status=running(), version="21"))
    assert await world.queued() == queued


async def test_a_change_of_status_on_a_mirror_queues_only_the_original(world: World) -> None:
    world.originals.put(job(cluster="a"))
    world.mirrors["a"].put(mirror(status=running()))
    await world.queued()
    world.mirrors["a"].put(mirror(status={**running(), "ready": 0}, version="21"))
    assert await world.queued() == {"originals"}


async def test_the_first_change_of_a_mirror_is_recorded(world: World) -> None:
    world.originals.put(job(cluster="a"))
    world.mirrors["a"].put(mirror(status=running()))
    assert world.state.record("u1").mirror_changed_at is None
    world.mirrors["a"].put(mirror(status={**running(), "ready": 0}, version="21"))
    record = world.state.find_record("u1")
    assert record is not None
    assert record.mirror_changed_at is not None


@pytest.mark.parametrize("original", [job(cluster="a", status=complete()), job(cluster="a", uid="u2")])
async def test_changes_of_mirrors_leave_no_record_of_what_has_ended_or_is_gone(world: World, original: Any) -> None:
    world.originals.put(original)
    for version in ("20", "21"):
        world.mirrors["a"].put(mirror(status=complete(), version=version))
    assert world.state.find_record("u1") is None


async def test_a_mirror_that_is_gone_queues_the_worker_of_the_next_run(world: World) -> None:
    world.originals.put(job(cluster="b", epoch=2))
    world.mirrors["a"].put(mirror())
    assert world.state.stale_mirrors("a") == 1
    await world.queued()
    world.mirrors["a"].discard(mirror().key)
    assert await world.queued() == {"originals", "a", "b"}
    assert world.state.stale_mirrors("a") == 0


async def test_the_deletion_of_an_original_queues_its_mirrors_and_forgets_it(world: World) -> None:
    world.originals.put(job(cluster="a"))
    world.mirrors["a"].put(mirror())
    world.state.record("u1")
    await world.queued()
    world.originals.discard(job().key)
    assert await world.queued() == {"a"}
    assert (world.state.live("a"), world.state.find_record("u1")) == (0, None)


async def test_a_worker_that_is_removed_is_forgotten(world: World) -> None:
    world.originals.put(job(cluster="a"))
    queue, remove = world.dispatcher.add_worker(world.workers["a"])
    world.mirrors["a"].put(mirror())
    world.state.shape_answered("a", "shape", None)
    assert len(queue.queue)
    remove()
    assert (world.kind.mirrors("u1"), dict(world.state.shapes), world.dispatcher.backlog("a")) == ({}, {}, 0)


async def test_a_probe_is_taken_once(world: World) -> None:
    world.dispatcher.enqueue_probe(REF, "a")
    assert await world.queued() == {"a"}
    assert [world.queues["a"].take_probe(REF) for _ in range(2)] == [True, False]


async def test_a_mirror_that_is_removed_after_the_end_queues_nothing(world: World) -> None:
    world.originals.put(job(cluster="a", status=complete()))
    world.mirrors["a"].put(mirror(status=complete()))
    await world.queued()
    world.mirrors["a"].discard(mirror().key)
    assert await world.queued() == set()


async def test_a_pod_that_is_bound_is_no_longer_reserved_at_that_moment(world: World) -> None:
    world.originals.put(job(cluster="a"))
    world.mirrors["a"].put(mirror())
    assert world.state.reserved("a")["pods"] == 1
    metadata = {"name": "p", "namespace": "team", "uid": "p", "labels": {POD_OWNER: "m1"}}
    bound = {"metadata": metadata, "spec": {"nodeName": "n", "containers": []}, "status": {"phase": "Pending"}}
    world.workers["a"].capacity.pod(None, decode_object(encode(bound)))
    assert "pods" not in world.state.reserved("a")


async def test_durations_of_runs_are_learnt_from_their_ends(world: World) -> None:
    for number in range(3):
        world.originals.put(job(cluster="a", uid=f"u{number}", version=f"{2 * number + 10}"))
        world.originals.put(job(cluster="a", uid=f"u{number}", version=f"{2 * number + 11}", status=complete()))
    shape = ADAPTER.demand(job()).shape
    assert world.state.durations.of(shape) == DurationRange(60, 60)
