"""The decision about a Job, as a value.

`decide` is a pure function of a Job, the pods that may be its own, what the controller knows beyond the caches, and the
time. `sync` carries the decision out in this order: adoptions and releases, deletes or creates, the first status write,
the removal of finalizers, the second status write. What the two writes contain depends on which requests succeeded, so
they are prepared on the way (`tracking`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec.structs import replace

from jobrelay.cluster.controllers.job.claim import PodClaims, claim
from jobrelay.cluster.controllers.job.manage import PodPlan, plan
from jobrelay.cluster.controllers.job.snapshot import JobSnapshot, SyncState, take_snapshot
from jobrelay.cluster.controllers.job.views import TRACKING_FINALIZER, Job, Pod, Time


@dataclass(frozen=True, slots=True)
class JobDecision:
    """What to do about a Job."""

    claims: PodClaims
    snapshot: JobSnapshot
    plan: PodPlan

    @property
    def keeps_finalizers(self) -> bool:
        """Whether deleted pods keep their finalizer because they still have to be counted."""
        return self.snapshot.finished_condition is not None

    @property
    def requeue_after(self) -> float | None:
        """Seconds after which the decision changes without any event."""
        times = [time for time in (self.snapshot.deadline, self.plan.backoff_delay) if time is not None]
        return min(times) if times else None

    @property
    def on_hold(self) -> bool:
        """Whether nothing may be written before `requeue_after`.

        During a backoff delay, v1.35 reports no active pods. If there are ready pods, the API server rejects such a
        status, so neither counters nor finalizers change until the delay is over.
        """
        return self.plan.backoff_delay is not None and self.snapshot.ready > 0


def decide(job: Job, pods: Iterable[Pod], state: SyncState, now: Time) -> JobDecision:
    """Decides about a Job; `pods` are those of its namespace that it controls or that have no controller."""
    claims = claim(job, pods)
    snapshot = take_snapshot(job, (*claims.owned, *_after_adoption(claims.adopted)), state, now)
    return JobDecision(claims, snapshot, plan(snapshot))


def _after_adoption(adopted: Iterable[Pod]) -> Iterable[Pod]:
    """Pods to adopt, as they will be afterwards."""
    for pod in adopted:
        finalizers = (*pod.metadata.finalizers, TRACKING_FINALIZER)
        yield replace(pod, metadata=replace(pod.metadata, finalizers=finalizers))
