"""How many pods a Job should have, and which to create or delete for that.

One sync either creates or deletes pods, never both, and at most 500. Pods that are deleted because there are too many,
or because the Job is suspended, lose their finalizer first, so they are not counted. Pods that are deleted because the
Job finishes keep it until they are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from jobrelay.cluster.controllers.job.backoff import index_remaining
from jobrelay.cluster.controllers.job.pods import NO_INDEX, completion_index, is_terminating
from jobrelay.cluster.controllers.job.ranking import pods_to_remove
from jobrelay.cluster.controllers.job.snapshot import JobSnapshot
from jobrelay.cluster.controllers.job.template import new_pod
from jobrelay.cluster.controllers.job.views import Pod
from jobrelay.kinds.batch.job.indexes import Indexes

MOST_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class PodPlan:
    """Which pods to create and delete.

    `managed` says whether the number of pods was considered at all: not when the Job finishes or is being deleted, or
    when the cache does not show earlier writes yet. `backoff_delay` is the number of seconds until failed pods may be
    replaced.
    """

    deletes: tuple[Pod, ...] = ()
    indexes: tuple[int | None, ...] = ()
    managed: bool = False
    backoff_delay: float | None = None

    def bodies(self, snapshot: JobSnapshot) -> Iterator[dict[str, Any]]:
        """The pods to create."""
        for index in self.indexes:
            yield new_pod(snapshot.job, index, None if index is None else snapshot.awaiting_replacement.get(index))


def plan(snapshot: JobSnapshot) -> PodPlan:
    job = snapshot.job
    if snapshot.finished_condition is not None:
        return PodPlan(deletes=snapshot.active)
    if job.deleting or not snapshot.state.satisfied:
        return PodPlan()
    if job.spec.suspend:
        return PodPlan(deletes=tuple(pods_to_remove(job, snapshot.active, len(snapshot.active))), managed=True)
    wanted, active = _wanted(snapshot), len(snapshot.active)
    too_many = pods_to_remove(job, snapshot.active, max(active - wanted, 0))
    if too_many:
        return PodPlan(deletes=tuple(too_many[:MOST_AT_ONCE]), managed=True)
    missing = wanted - active - (snapshot.terminating if job.replaces_only_failed else 0)
    return _creation(snapshot, missing) if missing > 0 else PodPlan(managed=True)


def _wanted(snapshot: JobSnapshot) -> int:
    """The number of pods that should be active; after one success, a work queue Job gets no more pods."""
    spec = snapshot.job.spec
    if spec.completions is None:
        return len(snapshot.active) if snapshot.succeeded > 0 else spec.parallelism
    return max(min(spec.completions - snapshot.succeeded, spec.parallelism), 0)


def _creation(snapshot: JobSnapshot, missing: int) -> PodPlan:
    job = snapshot.job
    if not job.per_index:
        remaining = snapshot.backoff.remaining(snapshot.now)
        if remaining > 0:
            return PodPlan(managed=True, backoff_delay=remaining)
    missing = min(missing, MOST_AT_ONCE)
    if not job.indexed:
        return PodPlan(indexes=(None,) * missing, managed=True)
    indexes = tuple(islice(_taken_indexes(snapshot).missing(job.completions), missing))
    if not job.per_index:
        return PodPlan(indexes=indexes, managed=True)
    waits = {index: index_remaining(snapshot.awaiting_replacement.get(index), snapshot.now) for index in indexes}
    now = tuple(index for index, wait in waits.items() if wait == 0)
    if waits and not now:
        return PodPlan(managed=True, backoff_delay=min(waits.values()))
    return PodPlan(indexes=now, managed=True)


def _taken_indexes(snapshot: JobSnapshot) -> Indexes:
    """Indexes that need no pod: they have one, or have succeeded or failed."""
    taken = {completion_index(pod) for pod in snapshot.active}
    if snapshot.job.replaces_only_failed:
        taken |= {completion_index(pod) for pod in snapshot.pods if is_terminating(pod)}
    taken.discard(NO_INDEX)
    return snapshot.succeeded_indexes | Indexes.of(taken) | (snapshot.failed_indexes or Indexes())
