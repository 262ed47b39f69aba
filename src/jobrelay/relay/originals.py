"""The management cluster's side of the relay: looks at originals, decides, and writes assignments and statuses."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import structlog

from jobrelay.control import LOW_PRIORITY, Controller, Result, WorkQueue
from jobrelay.kube import Client, Invalid, NotFound, Object, merge_patch
from jobrelay.kube.objects import Key
from jobrelay.relay.assignment import Assignment, assignment_of
from jobrelay.relay.decide import Commit, Decision, Probe, Stage, Tell, WriteStatus, decide
from jobrelay.relay.knowledge import Kind, Knowledge
from jobrelay.relay.metrics import Metrics
from jobrelay.relay.names import ASSIGNMENT
from jobrelay.relay.situation import Situation
from jobrelay.relay.telling import Telling
from jobrelay.relay.waiting import Waiting
from jobrelay.workloads import status_patch

__all__ = ["PUT_OFF", "Originals", "Task"]

log = structlog.get_logger(__name__)

_FIELD_MANAGER = "jobrelay"
_WORKERS = 32
PUT_OFF = Result(requeue_after=0.5)
"""The lease is late. If it is lost this controller ends; if it is renewed after all, the work is still to be done."""


class Task(NamedTuple):
    """A workload to look at: its kind (`jobs.batch`) and key."""

    kind: str
    key: Key


class Originals:
    """Reconciles originals. `nudge` has a worker's side look at a workload, `probe` asks a worker about one."""

    def __init__(
        self,
        knowledge: Knowledge,
        client: Client,
        telling: Telling,
        metrics: Metrics,
        *,
        nudge: Callable[[Task, str], None],
        probe: Callable[[Task, str], None],
        leads: Callable[[], bool],
        grace: float,
    ) -> None:
        self._known, self._client, self._telling, self._metrics = knowledge, client, telling, metrics
        self._nudge, self._probe, self._leads = nudge, probe, leads
        clock = knowledge.clock
        queue: WorkQueue[Task] = WorkQueue(clock=clock, max_delay=30.0)
        self.controller = Controller(
            "originals", self.reconcile, workers=_WORKERS, queue=queue, clock=clock, grace=grace
        )
        self.waiting: Waiting[Task] = Waiting(clock, queue.add)
        self._own_write = False
        for name, kind in knowledge.kinds.items():
            kind.originals.subscribe(self._handler(name, kind))

    def look(self, task: Task, *, priority: int = 0) -> None:
        """Have a workload looked at."""
        self.controller.queue.add(task, priority=priority)

    # What wakes it.

    def _handler(self, name: str, kind: Kind) -> Callable[[Object | None, Object | None], None]:
        def changed(old: Object | None, new: Object | None) -> None:
            if old is not None and new is not None and old.resource_version == new.resource_version:
                return
            obj = new or old
            assert obj is not None
            task = Task(name, obj.key)
            if new is None or (old is not None and old.uid != new.uid):
                self._gone(task, old if old is not None else obj)
            if new is not None:
                self._account(kind, new)
                self._tend_if_due(task, kind, old, new)
                if not self._own_write:
                    self.look(task, priority=0 if kind.originals.synced.is_set() else LOW_PRIORITY)

        return changed

    def _gone(self, task: Task, obj: Object) -> None:
        self._known.ledger.forget(obj.uid)
        self._known.memories.forget(obj.uid)
        self.waiting.discard(task)
        for worker in self._known.kinds[task.kind].mirrors(obj.uid):
            self._nudge(task, worker)

    def _account(self, kind: Kind, obj: Object) -> None:
        """Keeps the ledger up to date with assignments and ends."""
        to = assignment_of(obj)
        if to is None or kind.adapter.read(obj).end is not None:
            self._known.ledger.forget(obj.uid)
            return
        if self._known.ledger.cluster(obj.uid) == to.cluster:
            return
        mirror = kind.mirrors(obj.uid).get(to.cluster)
        started = mirror is not None and kind.adapter.read(mirror).started is not None
        self._known.ledger.assign(obj.uid, to.cluster, kind.adapter.demand(obj), started=started)

    def _tend_if_due(self, task: Task, kind: Kind, old: Object | None, new: Object) -> None:
        """The workers look only at what concerns their mirrors: the spec, the assignment, deletion, and the end."""
        concerns = (
            old is None
            or old.metadata.generation != new.metadata.generation
            or old.metadata.annotations != new.metadata.annotations
            or old.deleting != new.deleting
            or kind.adapter.read(new).end is not None
        )
        if not concerns:
            return
        workers = dict.fromkeys(kind.mirrors(new.uid))
        to = assignment_of(new)
        if to is not None:
            workers[to.cluster] = None
        for worker in workers:
            self._nudge(task, worker)

    # What it does.

    def decision(self, task: Task) -> tuple[Situation, Decision] | None:
        """What would be done about a workload now, and from what; None if there is no such original."""
        kind = self._known.kinds[task.kind]
        obj = kind.originals.get(task.key)
        if obj is None:
            return None
        situation = self._known.situation(kind, obj)
        return situation, decide(situation)

    async def reconcile(self, task: Task) -> Result | None:
        found = self.decision(task)
        if found is None:
            return None
        if not self._leads():
            return PUT_OFF
        situation, decision = found
        if decision.stage is Stage.NOT_OURS:
            return None
        if decision.stage is Stage.PROBING or (decision.placement is not None and decision.placement.chosen is None):
            self.waiting.add(task, situation.demand.shape)
        else:
            self.waiting.placed(task)
        self._hold(situation, decision)
        return await self._carry_out(task, situation, decision)

    def _hold(self, situation: Situation, decision: Decision) -> None:
        if decision.holding:
            memory = self._known.memories.of(situation.obj.uid)
            if memory.status_since is None:
                memory.status_since = self._known.clock.monotonic()

    async def _carry_out(self, task: Task, situation: Situation, decision: Decision) -> Result | None:
        obj = situation.obj
        try:
            match decision.act:
                case Commit(assignment):
                    obj = await self._commit(task, situation, assignment)
                case WriteStatus(status):
                    written = await self._write_status(task, situation, dict(status))
                    if written is None or _lacks_end(situation, written):
                        return Result(requeue_after=self._known.settings.ask_again)
                    obj = written
                case Probe(worker):
                    self._probe(task, worker)
        except NotFound:
            return None  # it is gone; the watch will say so
        self._tell(obj, decision.tell, situation)
        return Result(requeue_after=decision.look_again) if decision.look_again is not None else None

    async def _commit(self, task: Task, situation: Situation, assignment: Assignment) -> Object:
        """Counts the assignment before it is written, so that the next placement reckons with it."""
        obj = situation.obj
        change = {"metadata": {**_this(obj), "annotations": {ASSIGNMENT: assignment.encode()}}}
        resource = situation.adapter.resource
        self._known.ledger.assign(obj.uid, assignment.cluster, situation.demand, started=False)
        try:
            new = await self._client.patch(
                resource, obj.name, merge_patch(change), obj.namespace, field_manager=_FIELD_MANAGER
            )
        except BaseException:
            self._known.ledger.forget(obj.uid)
            self._account(self._known.kinds[task.kind], obj)
            raise
        before = situation.assignment
        self._metrics.placed(assignment.cluster, again=before is not None)
        self._observe(task, new)
        self._nudge(task, assignment.cluster)
        if before is not None:
            self._nudge(task, before.cluster)
        return new

    async def _write_status(self, task: Task, situation: Situation, status: dict[str, Any]) -> Object | None:
        """Writes the status, or the largest part of it that the API server takes; None if it takes nothing."""
        mirror = situation.mirror
        new: Object | None
        try:
            new = await self._patch_status(situation, status)
        except Invalid as error:
            if mirror is None:
                raise
            self._report_defect(situation, mirror.obj, error)
            new = await self._write_part(situation, mirror.obj)
        if new is None:
            return None
        memory = self._known.memories.of(situation.obj.uid)
        if mirror is not None:
            began, now = memory.changed_at, self._known.clock.monotonic()
            self._metrics.returned(mirror.worker, now - began if began is not None else None)
        memory.status_since = memory.changed_at = None
        self._observe(task, new)
        return new

    async def _write_part(self, situation: Situation, mirror: Object) -> Object | None:
        for part in situation.adapter.reduced_statuses(situation.obj, mirror):
            with suppress(Invalid):
                return await self._patch_status(situation, part)
        return None

    async def _patch_status(self, situation: Situation, status: dict[str, Any]) -> Object:
        obj = situation.obj
        old: dict[str, Any] = obj.decode().get("status") or {}
        change = {"metadata": _this(obj), "status": status_patch(old, status)}
        return await self._client.patch(
            situation.adapter.resource,
            obj.name,
            merge_patch(change),
            obj.namespace,
            subresource="status",
            field_manager=_FIELD_MANAGER,
        )

    def _report_defect(self, situation: Situation, mirror: Object, error: Invalid) -> None:
        """A refused status is a defect of ours: both states are needed to mend it, once for each version of the mirror."""
        obj = situation.obj
        memory = self._known.memories.of(obj.uid)
        if memory.defect == mirror.resource_version:
            return
        memory.defect = mirror.resource_version
        self._metrics.defects.inc()
        log.error(
            "the API server refused a status that should be legal: please report this",
            workload=str(obj.key),
            error=str(error),
            original=obj.decode().get("status"),
            mirror=mirror.decode().get("status"),
        )
        self._telling.tell(obj, [Tell("StatusRefused", f"The API server refused the whole status: {error}", "Warning")])

    def _observe(self, task: Task, new: Object) -> None:
        self._own_write = True
        try:
            self._known.kinds[task.kind].originals.observe(new)
        finally:
            self._own_write = False

    def _tell(self, obj: Object, tells: tuple[Tell, ...], situation: Situation) -> None:
        if not tells:
            return
        memory = self._known.memories.of(obj.uid)
        run = str(situation.assignment.epoch if situation.assignment is not None else 0)
        fresh = [tell for tell in tells if memory.told.get(tell.reason) != run]
        for tell in fresh:
            memory.told[tell.reason] = run
        self._telling.tell(obj, fresh)
        if any(tell.reason == "Finished" for tell in tells):
            self._known.memories.forget(obj.uid)


def _lacks_end(situation: Situation, written: Object) -> bool:
    """Whether a mirror's end is not in what could be written of its status."""
    mirror = situation.mirror
    return mirror is not None and mirror.facts.end is not None and situation.adapter.read(written).end is None


def _this(obj: Object) -> dict[str, Any]:
    """Makes a patch good for this very version of this very object."""
    return {"uid": obj.uid, "resourceVersion": obj.resource_version}
