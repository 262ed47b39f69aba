"""Admission at work: runs cycles of the core's scheduler, and writes what they decide.

Whenever something has changed, the scheduler settles: it decides until there is nothing new. What it decides is written
by workers side by side, one write for each Workload, while further cycles go on with these decisions counted already. A
write that fails is tried again, unless the Workload has changed: then it is decided on anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeAlias

from jobrelay.control import Controller, Result
from jobrelay.kube import Clock, Conflict, EventRecorder, NotFound, Object, ObjectReference
from jobrelay.kube.clock import Timer
from jobrelay.kube.objects import Key
from jobrelay.queueing import changes, core, names
from jobrelay.queueing.conditions import find
from jobrelay.queueing.lifecycle import is_outdated
from jobrelay.queueing.metrics import QueueMetrics
from jobrelay.queueing.reading import created_at
from jobrelay.queueing.resources import WORKLOADS
from jobrelay.queueing.state import QueueState
from jobrelay.queueing.views import WorkloadView
from jobrelay.queueing.writing import WorkloadWriter

_WORKERS: Final = 32
_MESSAGE_DELAY: Final = 1.0
"""How long it must be clear that a Workload waits before that is written, in seconds: most are admitted at once."""
_NOT_STARTED_RATE: Final = 20.0
"""How many Workloads a second get the condition that their pods are not ready when they are first seen."""

Decision: TypeAlias = core.Reservation | core.Preemption
NOT_LEADING: Final = Result(requeue_after=0.5)


class AdmissionCycles:
    """Decides and writes. `settler` runs cycles, `controller` writes what they decide."""

    def __init__(
        self,
        state: QueueState,
        writer: WorkloadWriter,
        recorder: EventRecorder,
        metrics: QueueMetrics,
        clock: Clock,
        *,
        wake: asyncio.Event,
        leads: Callable[[], bool],
        grace: float,
    ) -> None:
        self._state, self._writer, self._recorder, self._metrics = state, writer, recorder, metrics
        self._clock, self._wake, self._leads = clock, wake, leads
        self._decided: dict[Key, Decision] = {}
        self._waits: dict[Key, core.Requeue] = {}
        self._timer: Timer | None = None
        self._told_until = 0.0
        self.controller: Controller[Key] = Controller(
            "admissions", self.write, workers=_WORKERS, clock=clock, grace=grace
        )
        state.objects.workloads.subscribe(self._workload_event)

    async def run(self) -> None:
        """Settle whenever something has changed, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            self._settle()
            await asyncio.sleep(0)

    def why(self, key: Key) -> core.Requeue | None:
        """Why a Workload got no quota when it was last considered."""
        return self._waits.get(key)

    def report_waiting(self, key: Key) -> None:
        """Write why a Workload waits, if it still does a little later."""
        self.controller.queue.add_after(key, _MESSAGE_DELAY)

    def _settle(self) -> None:
        now = self._clock.now().timestamp()
        for decisions in self._state.scheduler.settle(now):
            self._metrics.cycle(decisions)
            for each in decisions.reservations:
                self._decide(_key(each.workload.key), each)
            for preemption in decisions.preemptions:
                self._decide(_key(preemption.target.key), preemption)
            for requeue in decisions.requeues:
                self._wait(_key(requeue.workload.key), requeue)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self._state.scheduler.next_due()
        if due is not None:
            self._timer = self._clock.call_later(max(0.0, due - now), self._wake.set)

    def _decide(self, key: Key, decision: Decision) -> None:
        self._decided[key] = decision
        self._waits.pop(key, None)
        self._state.begin(key)
        self.controller.queue.add(key)

    def _wait(self, key: Key, requeue: core.Requeue) -> None:
        self._waits[key] = requeue
        if key not in self._decided:
            self.controller.queue.add_after(key, _MESSAGE_DELAY)

    def _workload_event(self, old: Object | None, new: Object | None) -> None:
        """A Workload behind others is not decided on; its condition PodsReady is written when there is time for it."""
        if old is None and new is not None and _has_not_started(new.decode(WorkloadView)):
            now = self._clock.monotonic()
            self._told_until = max(now + _MESSAGE_DELAY, self._told_until + 1 / _NOT_STARTED_RATE)
            self.controller.queue.add_after(new.key, self._told_until - now)

    async def write(self, key: Key) -> Result | None:
        """Write what was decided about a Workload."""
        if not self._leads():
            return NOT_LEADING
        decision = self._decided.get(key)
        workload = self._state.objects.workloads.get(key)
        if decision is None:
            await self._write_waiting(key, workload)
            return None
        try:
            if workload is not None and self._still_holds(workload, decision):
                await self._carry_out(workload, decision)
        except (Conflict, NotFound):
            self._metrics.conflicts += 1
        if self._decided.get(key) is decision:  # otherwise another decision was made meanwhile, and is written next
            del self._decided[key]
            self._state.end(key)
        return None

    def _still_holds(self, workload: Object, decision: Decision) -> bool:
        """Whether a Workload is still as it was when it was decided on."""
        view = workload.decode(WorkloadView)
        if isinstance(decision, core.Preemption):
            return view.status.admission is not None and workload.uid == decision.target.uid
        if view.status.admission is not None:
            return False
        now = self._state.pending_of(workload)
        known = decision.workload
        return now is not None and (now.uid, now.cluster_queue, now.pod_sets) == (
            known.uid,
            known.cluster_queue,
            known.pod_sets,
        )

    async def _carry_out(self, workload: Object, decision: Decision) -> None:
        view, now = workload.decode(WorkloadView), self._clock.now()
        about = ObjectReference.of(workload, WORKLOADS)
        if isinstance(decision, core.Preemption):
            change = changes.evicted(view.status, names.PREEMPTED, decision.message, now, decision.reason)
            await self._writer.patch_status(workload, change)
            self._metrics.preempted(decision)
            self._recorder.event(about, "Normal", "EvictedDueToPreempted", decision.message)
            self._recorder.event(about, "Normal", names.PREEMPTED, decision.message)
            return
        change = changes.reserved(
            view.status, decision.admission, decision.checks, decision.message, now, owned=view.owned
        )
        await self._writer.patch_status(workload, change)
        waited = (now - created_at(workload)).total_seconds()
        queue = decision.admission.cluster_queue
        self._metrics.reserved(queue, waited, admitted=not decision.checks)
        considered = f"; Flavors considered: {text}" if (text := decision.assignment.considered) else ""
        note = f"{decision.message}, wait time since queued was {waited:.0f}s{considered}"
        self._recorder.event(about, "Normal", names.QUOTA_RESERVED, note)
        if not decision.checks:
            note = f"Admitted by ClusterQueue {queue}, wait time since reservation was 0s"
            self._recorder.event(about, "Normal", names.ADMITTED, note)

    async def _write_waiting(self, key: Key, workload: Object | None) -> None:
        """Write why a Workload still waits."""
        if workload is None or self._state.scheduler.snapshot.holder(str(key)) is not None:
            self._waits.pop(key, None)
            return
        view = workload.decode(WorkloadView)
        requeue = self._waits.get(key)
        if is_outdated(view.status.conditions):  # what was decided about it then may be, too
            requeue = self._state.scheduler.verdict(str(key)) or requeue
        if view.status.admission is not None or not view.spec.active:
            return
        if requeue is None:
            if _has_not_started(view):
                await self._writer.patch_status(workload, changes.not_started(view.status, self._clock.now()))
            return
        if self._state.objects.facts_of(key.namespace, view.spec.queue_name).problem:
            return
        why, message = requeue.condition_reason, requeue.message
        change = changes.pending(view.status, why, message, self._clock.now(), owned=view.owned)
        if change is not None:
            first = find(view.status.conditions, names.QUOTA_RESERVED) is None
            await self._writer.patch_status(workload, change)
            if first:
                about = ObjectReference.of(workload, WORKLOADS)
                self._recorder.event(about, "Normal", names.PENDING, requeue.message)


def _has_not_started(view: WorkloadView) -> bool:
    """Whether nothing was written yet about a Workload that waits for quota."""
    conditions = view.status.conditions
    return view.owned and view.status.admission is None and find(conditions, names.PODS_READY) is None


def _key(text: str) -> Key:
    namespace, _, name = text.partition("/")
    return Key(namespace, name)
