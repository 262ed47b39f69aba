"""How many pods a Job should have now, and so which to create or delete.

One sync either creates or deletes, never both, and not more than 500. Pods that are deleted because there are too many, or
because the Job is suspended, lose their finalizer first: they are not counted. Pods that are deleted because the Job's fate is
sealed keep it until they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from jobrelay.cluster.controllers.job.backoff import index_remaining
from jobrelay.cluster.controllers.job.pods import NO_INDEX, completion_index, is_terminating
from jobrelay.cluster.controllers.job.ranking import pods_to_remove
from jobrelay.cluster.controllers.job.situation import Situation
from jobrelay.cluster.controllers.job.template import new_pod
from jobrelay.cluster.controllers.job.views import Pod
from jobrelay.kinds.batch.job.indexes import Indexes

MOST_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do to pods.

    `managed` says whether the number of pods was looked at at all: not when the fate is sealed, the Job is being deleted,
    or earlier work is not visible yet. `held_back` are the seconds that a replacement still has to wait.
    """

    deletes: tuple[Pod, ...] = ()
    indexes: tuple[int | None, ...] = ()
    managed: bool = False
    held_back: float | None = None

    def bodies(self, facts: Situation) -> Iterator[dict[str, Any]]:
        """The pods to create."""
        for index in self.indexes:
            yield new_pod(facts.job, index, None if index is None else facts.awaiting.get(index))


def plan(facts: Situation) -> Plan:
    job = facts.job
    if facts.fate is not None:
        return Plan(deletes=facts.active)
    if job.deleting or not facts.memory.satisfied:
        return Plan()
    if job.spec.suspend:
        return Plan(deletes=tuple(pods_to_remove(job, facts.active, len(facts.active))), managed=True)
    wanted, active = _wanted(facts), len(facts.active)
    too_many = pods_to_remove(job, facts.active, max(active - wanted, 0))
    if too_many:
        return Plan(deletes=tuple(too_many[:MOST_AT_ONCE]), managed=True)
    missing = wanted - active - (facts.terminating if job.replaces_only_failed else 0)
    return _creation(facts, missing) if missing > 0 else Plan(managed=True)


def _wanted(facts: Situation) -> int:
    """The number of pods that should be active; a work queue with one success winds down by itself."""
    spec = facts.job.spec
    if spec.completions is None:
        return len(facts.active) if facts.succeeded > 0 else spec.parallelism
    return max(min(spec.completions - facts.succeeded, spec.parallelism), 0)


def _creation(facts: Situation, missing: int) -> Plan:
    job = facts.job
    if not job.per_index:
        remaining = facts.backoff.remaining(facts.now)
        if remaining > 0:
            return Plan(managed=True, held_back=remaining)
    missing = min(missing, MOST_AT_ONCE)
    if not job.indexed:
        return Plan(indexes=(None,) * missing, managed=True)
    indexes = tuple(islice(_taken_indexes(facts).missing(job.completions), missing))
    if not job.per_index:
        return Plan(indexes=indexes, managed=True)
    waits = {index: index_remaining(facts.awaiting.get(index), facts.now) for index in indexes}
    now = tuple(index for index, wait in waits.items() if wait == 0)
    if waits and not now:
        return Plan(managed=True, held_back=min(waits.values()))
    return Plan(indexes=now, managed=True)


def _taken_indexes(facts: Situation) -> Indexes:
    """The indexes that are taken: by pods, by success or by failure."""
    taken = {completion_index(pod) for pod in facts.active}
    if facts.job.replaces_only_failed:
        taken |= {completion_index(pod) for pod in facts.pods if is_terminating(pod)}
    taken.discard(NO_INDEX)
    return facts.succeeded_indexes | Indexes.of(taken) | (facts.failed_indexes or Indexes())
