"""The relay of a plan: which Job goes where and when, and what is done when workers are lost or drained.

It decides with the relay's own parts: `Placer`, `PendingWorkloads`, `WorkerLoad`, and the rules of `relay.health` for
lost workers. Its writes and those of a worker's controllers take no time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from jobrelay.planning.choosing import Chooser
from jobrelay.planning.clock import VirtualClock
from jobrelay.planning.fleet import WorkerDisruption
from jobrelay.planning.measures import Measures
from jobrelay.planning.runs import Batch, PlannedRun, Runs
from jobrelay.planning.trace import TraceJob
from jobrelay.planning.worker import PlannedWorker
from jobrelay.relay.claims import Claims, LineRank
from jobrelay.relay.health import frozen, lost_at
from jobrelay.relay.model import Claimant, State
from jobrelay.relay.pending import PendingWorkloads, Turn
from jobrelay.relay.settings import Settings
from jobrelay.relay.worker_load import WorkerLoad

_FROZEN_AGAIN = 15.0
"""How long it may take the relay to see that no longer most workers are lost."""


class PlannedJob:
    """A Job on the management cluster."""

    __slots__ = ("number", "rank", "run", "started", "trace")

    def __init__(self, number: int, trace: TraceJob) -> None:
        self.number, self.trace = number, trace
        self.rank = LineRank(0, trace.submit)
        self.run: PlannedRun | None = None
        """The current run; None until a worker is chosen."""
        self.started: float | None = None


class PlannedRelay:
    """Places Jobs, and is notified of the progress of their runs."""

    def __init__(
        self, clock: VirtualClock, workers: Sequence[PlannedWorker], policy: str, settings: Settings, measures: Measures
    ) -> None:
        self._clock, self._workers, self._settings, self._measures = clock, workers, settings, measures
        self._load = WorkerLoad()
        self._by_name = {worker.name: worker for worker in workers}
        claims: Claims[PlannedJob] = Claims(lambda: len(workers), self._claim_changed)
        self._chooser = Chooser(policy, workers, self._load.live, claims.on)
        self._runs = Runs(clock, workers, self, self._worker_changed)
        self._queue: dict[PlannedJob, None] = {}
        self._pending: PendingWorkloads[PlannedJob] = PendingWorkloads(clock, self._enqueue, claims)
        self._jobs: dict[int, PlannedJob] = {}
        """The Jobs that have not ended, by number."""
        self._unreported: dict[PlannedWorker, list[PlannedRun]] = {}
        """Runs that completed while their worker was out of reach."""
        self._frozen: bool | None = None
        self._held: dict[PlannedJob, None] = {}
        """Jobs of lost workers that are not started elsewhere because most workers were lost at once."""

    @property
    def unfinished(self) -> Iterable[PlannedJob]:
        """The Jobs that have not ended."""
        return self._jobs.values()

    def why(self, job: PlannedJob) -> str:
        """Why there is no worker for a Job."""
        return self._chooser.explain(job.trace.shape)

    def submit(self, number: int, trace: TraceJob) -> None:
        job = self._jobs[number] = PlannedJob(number, trace)
        self._enqueue(job)
        self.settle()

    def settle(self) -> None:
        """Reconcile the Jobs that are queued."""
        while self._queue:
            job = next(iter(self._queue))
            del self._queue[job]
            if job.number in self._jobs:
                self._reconcile(job)

    def _enqueue(self, job: PlannedJob) -> None:
        self._queue[job] = None

    def _worker_changed(self, worker: PlannedWorker) -> None:
        self._chooser.changed(worker)

    def _claim_changed(self, worker: str) -> None:
        self._worker_changed(self._by_name[worker])

    # Decisions

    def _reconcile(self, job: PlannedJob) -> None:
        """The next step for a Job, as `reconcile_original` takes it."""
        if job.run is None:
            self._place(job)
            return
        worker = job.run.worker
        facts = self._chooser.facts(worker.position)
        free_at = lost_at(facts, facts.lost_since, self._settings, None)
        if free_at is not None:
            self._lost(job, (free_at - self._clock.now()).total_seconds())
        elif worker.state is not State.DRAINING or not self._move(job, f"it is {worker.state}"):
            self._pending.discard(job)

    def _lost(self, job: PlannedJob, left: float) -> None:
        """The worker of a Job is lost; in `left` seconds it may be started elsewhere."""
        if left > 0:
            self._pending.discard(job)
            self._clock.call_later(left, partial(self._enqueue, job))
        elif self._is_frozen():
            self._pending.discard(job)
            self._held[job] = None
        elif not self._move(job, "it is lost"):
            self._pending.add(job, _group(job), job.rank)

    def _is_frozen(self) -> bool:
        """Whether most workers were lost at once; that changes only when a worker is lost or returns."""
        if self._frozen is None:
            facts = map(self._chooser.facts, range(len(self._workers)))
            self._frozen = frozen(facts, self._settings.freeze_window)
        return self._frozen

    def _place(self, job: PlannedJob) -> None:
        turn = self._pending.turn(job, _group(job), job.rank)
        chosen = self._chooser.place(job.trace.shape, str(job.number)) if turn.now else None
        if chosen is None and turn.now:
            chosen = self._claimed(job, turn)
        if chosen is None:
            self._pending.add(job, _group(job), job.rank)
            return
        self._pending.placed(job)
        self._assign(job, self._by_name[chosen])

    def _claimed(self, job: PlannedJob, turn: Turn) -> str | None:
        """The worker that is kept free for a Job, if it has room by now; a Job that has waited long claims one."""
        shape, seed, claimed = job.trace.shape, str(job.number), self._by_name.get(turn.claimed)
        if claimed is not None and claimed.connected and claimed.state is State.OPEN:
            return claimed.name if self._chooser.has_room(shape, seed, claimed) else None
        if claimed is not None or turn.may_claim:
            self._pending.claim(job, Claimant(seed, job.trace.name), self._chooser.claim(shape))
        return None

    def _move(self, job: PlannedJob, why: str) -> bool:
        """Start a Job elsewhere; returns whether there is a worker for it."""
        old = job.run
        assert old is not None
        chosen = self._chooser.place(job.trace.shape, str(job.number), old.worker, why)
        if chosen is None:
            return False
        self._pending.placed(job)
        self._measures.moved(old)
        self._assign(job, self._by_name[chosen])
        if old.worker.connected:
            self._runs.stop(old)
            self._pending.retry_soon()
        self._worker_changed(old.worker)
        return True

    def _assign(self, job: PlannedJob, worker: PlannedWorker) -> None:
        self._load.assign(str(job.number), worker.name, job.trace.shape.demand, started=True)
        job.run = PlannedRun(job.number, job.trace, worker)
        self._runs.start(job.run)

    # Runs

    def _job_of(self, run: PlannedRun) -> PlannedJob | None:
        """The Job of which this is the current run."""
        job = self._jobs.get(run.number)
        return job if job is not None and job.run is run else None

    def started(self, run: PlannedRun, batch: Batch) -> None:
        self._measures.bound(run, batch)
        job = self._job_of(run)
        if job is not None and job.started is None:
            job.started = self._clock.monotonic()

    def progressed(self, run: PlannedRun, batch: Batch) -> None:
        self._measures.unbound(run, batch, self._clock.monotonic())
        job = self._job_of(run)
        if job is not None and run.worker.state is State.DRAINING:
            self._enqueue(job)
        self._pending.retry_soon()

    def completed(self, run: PlannedRun, batch: Batch) -> None:
        self._measures.unbound(run, batch, self._clock.monotonic())
        if run.worker.connected:
            self._finish(run, self._clock.monotonic())
        else:
            self._unreported.setdefault(run.worker, []).append(run)
        self._pending.retry_soon()

    def interrupted(self, run: PlannedRun, batch: Batch) -> None:
        self._measures.unbound(run, batch, self._clock.monotonic())
        self._measures.repeated(run, batch, self._clock.monotonic())

    def _finish(self, run: PlannedRun, at: float) -> None:
        job = self._job_of(run)
        if job is None:
            return
        del self._jobs[job.number]
        self._pending.discard(job)
        self._load.forget(str(job.number))
        assert job.started is not None
        self._measures.finished(job.trace, job.started, at)

    # Incidents

    def begin_outage(self, outage: WorkerDisruption) -> None:
        worker = self._by_name[outage.worker]
        worker.lost_since = self._clock.now()
        if outage.stops:
            self._runs.halt(worker)
        self._contact_changed(worker)

    def end_outage(self, outage: WorkerDisruption) -> None:
        """The worker answers: runs that were moved away are stopped there, the others are reported."""
        worker = self._by_name[outage.worker]
        worker.lost_since = None
        for run in self._runs.on(worker):
            if self._job_of(run) is None:
                self._runs.stop(run)
        if worker.stopped:
            self._runs.resume(worker)
        for run in self._unreported.pop(worker, []):
            self._finish(run, self._clock.monotonic())
        self._contact_changed(worker)

    def begin_drain(self, drain: WorkerDisruption) -> None:
        self._by_name[drain.worker].state = State.DRAINING
        self._contact_changed(self._by_name[drain.worker])

    def end_drain(self, drain: WorkerDisruption) -> None:
        self._by_name[drain.worker].state = State.OPEN
        self._contact_changed(self._by_name[drain.worker])

    def _contact_changed(self, worker: PlannedWorker) -> None:
        self._worker_changed(worker)
        self._frozen = None
        held, self._held = self._held, {}
        for each in held:
            self._clock.call_later(_FROZEN_AGAIN, partial(self._enqueue, each))
        for run in self._runs.on(worker):
            if (job := self._job_of(run)) is not None:
                self._enqueue(job)
        self._pending.retry_soon()


def _group(job: PlannedJob) -> str:
    """Equal for Jobs that find the same workers; one that moves does not go back."""
    shape = job.trace.shape.demand.shape
    return f"{shape} not on {job.run.worker.name}" if job.run is not None else shape
