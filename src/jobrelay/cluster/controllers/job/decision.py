"""The Job controller's mind: what to do about a Job, as a value.

`decide` is a pure function of a Job, the pods that might be its own, what the controller remembers and the time. What it
returns is carried out in order by the shell (`sync`): adoptions and releases, deletes or creates, the first status write,
removal of finalizers, the second status write. Since requests can fail, `report` and `close` take what really happened; the
properties here show what a decision leads to when all goes well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from jobrelay.cluster.controllers.job.backoff import BackoffRecord
from jobrelay.cluster.controllers.job.claim import Claims, claim
from jobrelay.cluster.controllers.job.manage import PodPlan, plan
from jobrelay.cluster.controllers.job.snapshot import JobSnapshot, SyncState, assess
from jobrelay.cluster.controllers.job.tracking import Event, PlanOutcome, UncountedUpdate, list_uncounted
from jobrelay.cluster.controllers.job.views import TRACKING_FINALIZER, BatchJobStatus, Job, Pod, Time


@dataclass(frozen=True, slots=True)
class JobDecision:
    claims: Claims
    snapshot: JobSnapshot
    plan: PodPlan

    @property
    def adoptions(self) -> tuple[Pod, ...]:
        return self.claims.adopted

    @property
    def releases(self) -> tuple[Pod, ...]:
        return self.claims.released

    @property
    def deletes(self) -> tuple[Pod, ...]:
        return self.plan.deletes

    @property
    def keeps_finalizers(self) -> bool:
        """Whether deleted pods keep their finalizer because they are still to be counted."""
        return self.snapshot.finished_condition is not None

    @property
    def creates(self) -> list[dict[str, Any]]:
        return list(self.plan.bodies(self.snapshot))

    @property
    def requeue_after(self) -> float | None:
        """Seconds after which time alone changes the decision."""
        times = [time for time in (self.snapshot.deadline, self.plan.backoff_delay) if time is not None]
        return min(times) if times else None

    @property
    def on_hold(self) -> bool:
        """Whether nothing may be written before `requeue_after`.

        While a delay holds replacements back, v1.35 reports no active pods. With ready pods, such a status is refused by
        the API server, so that nothing moves until the delay is over: neither counters nor finalizers.
        """
        return self.plan.backoff_delay is not None and self.snapshot.ready > 0

    @property
    def state(self) -> BackoffRecord:
        """What to remember once the first write went well."""
        return self.snapshot.backoff

    @property
    def outcome(self) -> UncountedUpdate:
        """The report if every request goes well."""
        return list_uncounted(self.snapshot, self.plan, PlanOutcome.everything(self.plan))

    @property
    def status(self) -> BatchJobStatus | None:
        """The first status to write, None if there is nothing new."""
        return self.outcome.status if self.outcome.changed and not self.on_hold else None

    @property
    def removals(self) -> tuple[Pod, ...]:
        """The pods that lose their finalizer after the first write."""
        return () if self.on_hold else self.outcome.removals

    @property
    def events(self) -> tuple[Event, ...]:
        return self.outcome.events


def decide(job: Job, pods: Iterable[Pod], state: SyncState, now: Time) -> JobDecision:
    """What to do about a Job; `pods` are those of its namespace that it controls or that nobody does."""
    claims = claim(job, pods)
    snapshot = assess(job, (*claims.owned, *_taken_in(claims.adopted)), state, now)
    return JobDecision(claims, snapshot, plan(snapshot))


def _taken_in(adopted: Iterable[Pod]) -> Iterable[Pod]:
    """Adopted pods as they are after their adoption."""
    for pod in adopted:
        finalizers = (*pod.metadata.finalizers, TRACKING_FINALIZER)
        yield replace(pod, metadata=replace(pod.metadata, finalizers=finalizers))
