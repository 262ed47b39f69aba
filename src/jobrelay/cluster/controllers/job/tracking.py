"""Counting every pod once, and ending a Job only when all of its pods are counted.

A pod's end reaches the counters in three steps, each of which may be the last before a crash. First its uid is written to
`uncountedTerminatedPods` (an Indexed Job writes the index of a success instead, which cannot count twice). Then its
finalizer is taken off. Then, with the next write, the uid leaves the list and the counter grows. `report` decides the first
write and whose finalizers fall; `close` decides the second write, which may also bring the terminal condition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from msgspec.structs import replace

from jobrelay.cluster.controllers.job import conditions
from jobrelay.cluster.controllers.job.manage import Plan
from jobrelay.cluster.controllers.job.podfailurepolicy import judge
from jobrelay.cluster.controllers.job.pods import completion_index, has_valid_index, is_failed, is_ready, is_succeeded
from jobrelay.cluster.controllers.job.situation import Situation
from jobrelay.cluster.controllers.job.suspend import with_suspension
from jobrelay.cluster.controllers.job.views import Condition, Job, Pod, Status, Time
from jobrelay.kinds.batch.job.indexes import Indexes
from jobrelay.kinds.batch.job.names import COMPLETE, FAILURE_TARGET, SUCCESS_CRITERIA_MET
from jobrelay.kinds.batch.job.views import Uncounted

MOST_UNCOUNTED: Final = 500


class Event(NamedTuple):
    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a plan: how many pods were created, and the uids of those deleted."""

    created: int = 0
    deleted: frozenset[str] = frozenset()

    @classmethod
    def everything(cls, plan: Plan) -> Done:
        return cls(len(plan.indexes), frozenset(pod.uid for pod in plan.deletes))


@dataclass(frozen=True, slots=True)
class Report:
    """The first write of a sync and what follows it."""

    status: Status
    changed: bool
    removals: tuple[Pod, ...] = ()
    tracked: frozenset[str] = frozenset()
    ending: Condition | None = None
    terminating: int = 0
    events: tuple[Event, ...] = ()
    policy_actions: Counter[str] = field(default_factory=Counter)

    def only_begins(self, job: Job) -> bool:
        """Whether there is nothing to tell but that a Job has started."""
        begun = job.status.start_time is None and self.status.start_time is not None
        return begun and not (self.events or self.removals or self.ending or self.status.conditions)


@dataclass(frozen=True, slots=True)
class Closing:
    """The second write of a sync."""

    status: Status
    changed: bool
    finished: Condition | None = None


@dataclass(frozen=True, slots=True)
class _Numbers:
    active: int
    ready: int
    terminating: int


def report(facts: Situation, plan: Plan, done: Done) -> Report:
    numbers = _numbers(facts, plan, done)
    fate, status = facts.fate, facts.job.status
    events: tuple[Event, ...] = ()
    status = replace(status, start_time=_whole(facts.start), uncounted_terminated_pods=status.uncounted)
    suspension_changed = False
    if fate is not None:
        if numbers.active != 0 or not facts.memory.satisfied:
            fate = None
    elif _complete(facts, numbers.active):
        fate = conditions.completions_reached(facts.now)
    elif plan.managed:
        suspended = with_suspension(status, suspend=facts.job.spec.suspend, now=facts.now)
        if suspended is not None:
            suspension_changed, status = True, suspended
            word = "Suspended" if facts.job.spec.suspend else "Resumed"
            events = (Event("Normal", word, f"Job {word.lower()}"),)
    changed = suspension_changed or (status.active, status.ready, status.terminating) != (
        numbers.active, numbers.ready, numbers.terminating,
    )  # fmt: skip
    status = replace(status, active=numbers.active, ready=numbers.ready, terminating=numbers.terminating)
    return _tracked(facts, fate, status, changed, numbers.terminating, events)


def _numbers(facts: Situation, plan: Plan, done: Done) -> _Numbers:
    """Active, ready and terminating pods after the plan was carried out; while a delay holds pods back, none are active."""
    gone = [pod for pod in plan.deletes if pod.uid in done.deleted]
    active = 0 if plan.held_back is not None else len(facts.active) + done.created - len(gone)
    return _Numbers(active, facts.ready - sum(is_ready(pod) for pod in gone), facts.terminating + len(gone))


def _complete(facts: Situation, active: int) -> bool:
    completions = facts.job.spec.completions
    enough = facts.succeeded > 0 if completions is None else facts.succeeded >= completions
    return enough and active == 0


def _tracked(
    facts: Situation, fate: Condition | None, status: Status, changed: bool, terminating: int, events: tuple[Event, ...]
) -> Report:
    tracked = frozenset(pod.uid for pod in facts.open_pods())
    counted = count_released(status, tracked)
    changed, status = changed or counted is not None, counted or status
    listing = _Listing(facts, fate, status)
    for pod in _in_order(facts):
        if not listing.take(pod):
            break
    changed = changed or listing.changed
    status = replace(status, uncounted_terminated_pods=Uncounted(tuple(listing.succeeded), tuple(listing.failed)))
    if facts.job.indexed:
        before, status = status, _with_indexes(facts, status, listing.indexes)
        changed = changed or _indexes(before) != _indexes(status)
    if fate is not None and fate.type in (FAILURE_TARGET, SUCCESS_CRITERIA_MET):
        if status.true_condition(fate.type) is None:
            status, changed = replace(status, conditions=(*status.conditions, fate)), True
        fate = conditions.terminal(fate, facts.now)
    return Report(
        status=status,
        changed=changed,
        removals=tuple(listing.removals),
        tracked=tracked,
        ending=None if listing.full else fate,
        terminating=terminating,
        events=events,
        policy_actions=listing.actions,
    )


def _in_order(facts: Situation) -> list[Pod]:
    """Pods with a finalizer, by index so that indexes are completed in order."""
    pods = facts.open_pods()
    return sorted(pods, key=completion_index) if facts.job.indexed else pods


def _indexes(status: Status) -> tuple[str, str | None]:
    """What is worth a write of its own: the number of succeeded indexes follows from them, and is set right when they change."""
    return status.completed_indexes, status.failed_indexes


def _with_indexes(facts: Situation, status: Status, new: Iterable[int]) -> Status:
    succeeded = facts.succeeded_indexes | Indexes.of(new)
    failed = None if facts.failed_indexes is None else str(facts.failed_indexes)
    return replace(status, succeeded=len(succeeded), completed_indexes=str(succeeded), failed_indexes=failed)


class _Listing:
    """Goes over pods that have their finalizer, listing those that ended until the lists are full."""

    def __init__(self, facts: Situation, fate: Condition | None, status: Status) -> None:
        self.facts, self.job, self.fate = facts, facts.job, fate
        self.known = facts.job.status.uncounted
        self.succeeded = list(status.uncounted.succeeded)
        self.failed = list(status.uncounted.failed)
        self.indexes: list[int] = []
        self.removals: list[Pod] = []
        self.actions: Counter[str] = Counter()
        self.changed = False
        self.full = False

    def take(self, pod: Pod) -> bool:
        """List one pod; False when there is no room for more."""
        failed = is_failed(pod, self.job)
        if not self._may_go(pod, failed):
            return True
        self.removals.append(pod)
        if is_succeeded(pod) and pod.uid not in self.known.failed:
            self._list_success(pod)
        elif failed or self._fails_the_rest():
            self._list_failure(pod)
        self.full = len(self.indexes) + len(self.succeeded) + len(self.failed) >= MOST_UNCOUNTED
        return not self.full

    def _may_go(self, pod: Pod, failed: bool) -> bool:
        if self.job.deleting or self.fate is not None or is_succeeded(pod):
            return True
        waiting = self.facts.awaiting.get(completion_index(pod))
        return failed and (waiting is None or waiting.uid != pod.uid)

    def _fails_the_rest(self) -> bool:
        """A Job that fails takes its running pods along; one that succeeds does not blame them."""
        return self.fate is not None and self.fate.type != SUCCESS_CRITERIA_MET

    def _list_success(self, pod: Pod) -> None:
        if self.job.indexed:
            index = completion_index(pod)
            if has_valid_index(pod, self.job) and index not in self.facts.counted_indexes:
                self.indexes.append(index)
                self.changed = True
        elif pod.uid not in self.known.succeeded:
            self.succeeded.append(pod.uid)
            self.changed = True

    def _list_failure(self, pod: Pod) -> None:
        if pod.uid in self.known.failed or not has_valid_index(pod, self.job):
            return
        verdict = judge(self.job, pod)
        if verdict.action:
            self.actions[verdict.action] += 1
        if verdict.counts:
            self.failed.append(pod.uid)
            self.changed = True


def count_released(status: Status, tracked: Collection[str]) -> Status | None:
    """Move the uids of pods without finalizer from the lists to the counters; None if there are none."""
    listed = status.uncounted
    left = Uncounted(
        tuple(uid for uid in listed.succeeded if uid in tracked), tuple(uid for uid in listed.failed if uid in tracked)
    )
    if left == listed:
        return None
    return replace(
        status,
        succeeded=status.succeeded + len(listed.succeeded) - len(left.succeeded),
        failed=status.failed + len(listed.failed) - len(left.failed),
        uncounted_terminated_pods=left,
    )


def close(reported: Report, removed: Collection[str], now: Time) -> Closing:
    """The status after finalizers were taken off; `removed` are the pods that lost theirs."""
    counted = count_released(reported.status, reported.tracked.difference(removed))
    status, changed = counted or reported.status, counted is not None
    ending = reported.ending
    if ending is None or status.uncounted != Uncounted() or reported.terminating > 0:
        return Closing(status, changed)
    final = conditions.with_condition(status, conditions.condition(ending.type, ending.reason, ending.message, now))
    status = replace(status, conditions=final or status.conditions)
    if ending.type == COMPLETE:
        status = replace(status, completion_time=ending.last_transition_time)
    return Closing(status, True, ending)


def _whole(time: Time | None) -> Time | None:
    return None if time is None else time.replace(microsecond=0)
