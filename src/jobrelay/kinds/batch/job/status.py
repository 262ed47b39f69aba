"""The rules for writes to a Job's status by any controller, built in or external.

Each rule has a number (S1 to S34), the field that its error names, the error's text, its meaning, and a check. Most
rules concern only what a write changes, so that old bad data does not block unrelated writes, and so that a spec change
which makes the status outdated for a moment is not fatal. `RULES` is in the order in which errors are told.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from jobrelay.apimachinery.field import NO_VALUE, FieldError, Path, duplicate, invalid, required
from jobrelay.apimachinery.gostruct import json_value, struct_value
from jobrelay.kinds.batch.job.indexes import IndexesError, first_overlap, parse_indexes
from jobrelay.kinds.batch.job.names import COMPLETE, FAILED, FAILURE_TARGET, SUSPENDED
from jobrelay.kinds.batch.job.write import StatusWrite, is_condition
from jobrelay.kinds.strategy import Obj

_PATH: Final = Path("status")
_NEGATIVE: Final = "must be greater than or equal to 0"
_UNCOUNTED: Final = "uncountedTerminatedPods"

Check = Callable[[StatusWrite, "StatusRule"], Iterable[FieldError]]


@dataclass(frozen=True, slots=True)
class StatusRule:
    """One rule: its number, the status field that its error names, the error's text, its meaning, and its check.

    `touches`: only a write that changes one of these status fields can break the rule; none means that any write can.
    """

    name: str
    field: str
    text: str
    meaning: str
    check: Check
    touches: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        return _PATH.child(self.field)


def _when(broken: Callable[[StatusWrite], bool]) -> Check:
    """A violation that is reported without a value."""
    return lambda write, rule: [invalid(rule.path, NO_VALUE, rule.text)] if broken(write) else ()


def _needs(broken: Callable[[StatusWrite], bool]) -> Check:
    """A value that is required and absent."""
    return lambda write, rule: [required(rule.path, rule.text)] if broken(write) else ()


def _value(broken: Callable[[StatusWrite], bool]) -> Check:
    """A violation that shows the field's value."""
    return lambda write, rule: [invalid(rule.path, write.new.get(rule.field), rule.text)] if broken(write) else ()


def _count(broken: Callable[[StatusWrite], bool]) -> Check:
    """A violation that shows a counter, where absent means 0."""
    return lambda write, rule: [invalid(rule.path, write.new.count(rule.field), rule.text)] if broken(write) else ()


def _negative(field: str) -> Check:
    return _count(lambda write: write.new.count(field) < 0)


def _uids(write: StatusWrite) -> Iterator[tuple[Path, str, bool]]:
    """Every uncounted pod uid with its place and whether it was there before."""
    seen: set[str] = set()
    for outcome in ("succeeded", "failed"):
        for index, uid in enumerate(write.new.uncounted(outcome)):
            yield _PATH.child(_UNCOUNTED, outcome).index(index), uid, uid in seen
            seen.add(uid)


def _empty_uids(write: StatusWrite, rule: StatusRule) -> Iterable[FieldError]:
    return [invalid(path, uid, rule.text) for path, uid, _ in _uids(write) if not uid]


def _repeated_uids(write: StatusWrite, rule: StatusRule) -> Iterable[FieldError]:
    return [duplicate(path, uid) for path, uid, again in _uids(write) if uid and again]


def _completion_touched(write: StatusWrite) -> bool:
    return write.turned("complete") or write.changed("completionTime")


def _before_start(write: StatusWrite) -> bool:
    start, end = write.new.get("startTime"), write.new.get("completionTime")
    return start is not None and end is not None and end < start and write.changed("startTime", "completionTime")


def _finished_unstarted(write: StatusWrite) -> bool:
    spec = write.new.spec
    if not write.new.finished or write.new.get("startTime") is not None:
        return False
    never_runs = spec.get("suspend") is True and spec.get("completions") == 0
    return not never_runs and (write.turned("finished") or write.changed("startTime"))


def _uncounted_when_finished(write: StatusWrite, rule: StatusRule) -> Iterable[FieldError]:
    uids = write.new.uncounted("succeeded") or write.new.uncounted("failed")
    if uids and write.new.finished and (write.turned("finished") or write.changed(_UNCOUNTED)):
        shown = struct_value(write.new.get(_UNCOUNTED), "io.k8s.api.batch.v1.UncountedTerminatedPods")
        return [invalid(rule.path, shown, rule.text)]
    return ()


def _bad_completed_indexes(write: StatusWrite, rule: StatusRule) -> Iterable[FieldError]:
    completions = write.new.spec.get("completions")
    if completions is None or not write.changed(rule.field):
        return ()
    return _malformed(rule, write.new.get(rule.field) or "", completions)


def _bad_failed_indexes(write: StatusWrite, rule: StatusRule) -> Iterable[FieldError]:
    spec, text = write.new.spec, write.new.get(rule.field)
    if text is None or "completions" not in spec or "backoffLimitPerIndex" not in spec or not write.changed(rule.field):
        return ()
    return _malformed(rule, text, spec["completions"])


def _malformed(rule: StatusRule, text: str, completions: int) -> Iterable[FieldError]:
    try:
        parse_indexes(text, completions)
    except IndexesError as error:
        return [invalid(rule.path, json_value(text), f"{rule.text}{error}")]
    return ()


def _overlapping_indexes(write: StatusWrite, rule: StatusRule) -> Iterable[FieldError]:
    completed, failed = write.new.get("completedIndexes"), write.new.get("failedIndexes")
    completions = write.new.spec.get("completions")
    if completions is None or not completed or not failed or not write.changed("failedIndexes", "completedIndexes"):
        return ()
    index = first_overlap(completed, failed, completions)
    return [] if index is None else [invalid(rule.path, failed, f"{rule.text}{index}")]


def _disabled_terminal(write: StatusWrite, rule: StatusRule) -> Iterable[FieldError]:
    for type_, fact in ((FAILED, "failed"), (COMPLETE, "complete"), (FAILURE_TARGET, "failure_target")):
        if getattr(write.old, fact) and not getattr(write.new, fact):
            yield invalid(rule.path, NO_VALUE, rule.text.format(type_))


def _fewer_succeeded(write: StatusWrite) -> bool:
    spec = write.new.spec
    elastic = write.new.indexed and spec.get("completions") == spec.get("parallelism")
    return write.new.count("succeeded") < write.old.count("succeeded") and not elastic


def _start_time_taken(write: StatusWrite) -> bool:
    if write.old.get("startTime") is None or not write.changed("startTime") or write.new.spec.get("suspend"):
        return False
    return not (is_condition(write.old.status, SUSPENDED) and is_condition(write.new.status, SUSPENDED, "False"))


RULES: Final[tuple[StatusRule, ...]] = (
    StatusRule("S1", "active", _NEGATIVE, "The number of active pods is not negative.", _negative("active")),
    StatusRule("S2", "succeeded", _NEGATIVE, "The number of succeeded pods is not negative.", _negative("succeeded")),
    StatusRule("S3", "failed", _NEGATIVE, "The number of failed pods is not negative.", _negative("failed")),
    StatusRule("S4", "ready", _NEGATIVE, "The number of ready pods is not negative.", _negative("ready")),
    StatusRule("S5", "terminating", _NEGATIVE, "The number of terminating pods is not negative.",
         _negative("terminating")),
    StatusRule("S6", _UNCOUNTED, "must not be empty", "Uncounted pods are named by their uid.", _empty_uids),
    StatusRule("S7", _UNCOUNTED, "", "A pod is uncounted once, either as succeeded or as failed.", _repeated_uids),
    StatusRule("S8", "conditions", "cannot set Complete=True and Failed=true conditions",
         "A Job does not become both Complete and Failed.",
         _when(lambda w: w.new.complete and w.new.failed and w.turned("complete", "failed")), ("conditions",)),
    StatusRule("S9", "conditions", "cannot set Complete=True and FailureTarget=true conditions",
         "A Job that is going to fail does not become Complete.",
         _when(lambda w: w.new.complete and w.new.failure_target and w.turned("complete", "failure_target")),
         ("conditions",)),
    StatusRule("S10", "completionTime", "cannot set completionTime when there is no Complete=True condition",
         "Only a Complete Job has a completion time.",
         _value(lambda w: not w.new.complete and w.new.get("completionTime") is not None and _completion_touched(w)),
         ("conditions", "completionTime")),
    StatusRule("S11", "completionTime", "completionTime is required for Complete jobs",
         "A Complete Job has a completion time.",
         _needs(lambda w: w.new.complete and w.new.get("completionTime") is None and _completion_touched(w)),
         ("conditions", "completionTime")),
    StatusRule("S12", "completionTime", "must be equal to or after `startTime`",
         "A Job does not complete before it starts.", _value(_before_start), ("startTime", "completionTime")),
    StatusRule("S13", "conditions", "cannot set Failed=True condition without the FailureTarget=true condition",
         "A Job that becomes Failed, or whose failed indexes change, says FailureTarget too.",
         _when(lambda w: w.new.failed and not w.new.failure_target
               and (w.turned("failed") or w.changed("failedIndexes"))), ("conditions", "failedIndexes")),
    StatusRule("S14", "conditions", "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
         "A Job that becomes Complete says SuccessCriteriaMet too.",
         _when(lambda w: w.new.complete and not w.new.success and w.turned("complete", "success")), ("conditions",)),
    StatusRule("S15", "active", "active>0 is invalid for finished job", "A finished Job has no active pods.",
         _count(lambda w: w.new.finished and w.new.count("active") > 0
                and (w.turned("finished") or w.counted("active"))), ("conditions", "active")),
    StatusRule("S16", "startTime", "startTime is required for finished job",
         "A finished Job has a start time, unless it is suspended and wants no completions.",
         _needs(_finished_unstarted), ("conditions", "startTime")),
    StatusRule("S17", _UNCOUNTED, "must be empty for finished job", "A finished Job has counted all its pods.",
         _uncounted_when_finished, ("conditions", _UNCOUNTED)),
    StatusRule("S18", "completedIndexes", "error parsing completedIndexes: ",
         "Completed indexes are an increasing list below completions.", _bad_completed_indexes, ("completedIndexes",)),
    StatusRule("S19", "failedIndexes", "error parsing failedIndexes: ",
         "Failed indexes are an increasing list below completions.", _bad_failed_indexes, ("failedIndexes",)),
    StatusRule("S20", "completedIndexes", "cannot set non-empty completedIndexes when non-indexed completion mode",
         "Only an Indexed Job has completed indexes.",
         _value(lambda w: bool(w.new.get("completedIndexes")) and not w.new.indexed and w.changed("completedIndexes")),
         ("completedIndexes",)),
    StatusRule("S21", "failedIndexes", "cannot set non-null failedIndexes when backoffLimitPerIndex is null",
         "Only a Job with a backoff limit per index has failed indexes.",
         _value(lambda w: w.new.get("failedIndexes") is not None and "backoffLimitPerIndex" not in w.new.spec
                and w.changed("failedIndexes")), ("failedIndexes",)),
    StatusRule("S22", "failedIndexes", "failedIndexes and completedIndexes overlap at index: ",
         "No index is both completed and failed.", _overlapping_indexes, ("completedIndexes", "failedIndexes")),
    StatusRule("S23", "terminating", "terminating>0 is invalid for finished job", "A finished Job has no "
        "terminating pods.",
         _value(lambda w: w.new.finished and w.new.count("terminating") > 0
                and (w.turned("finished") or w.changed("terminating"))), ("conditions", "terminating")),
    StatusRule("S24", "ready", "cannot set more ready pods than active", "Ready pods are active.",
         _value(lambda w: w.new.get("ready") is not None and w.new.get("ready") > w.new.count("active")
                and (w.changed("ready") or w.counted("active"))), ("ready", "active")),
    StatusRule("S25", "conditions", "cannot set SuccessCriteriaMet=True and Failed=true conditions",
         "A Job that met its success criteria is not Failed.", _when(lambda w: w.new.success and w.new.failed)),
    StatusRule("S26", "conditions", "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
         "A Job is not going to succeed and to fail.", _when(lambda w: w.new.success and w.new.failure_target)),
    StatusRule("S27", "conditions", "cannot set Complete=True for Job with SuccessPolicy unless "
        "SuccessCriteriaMet=True",
         "A Complete Job with a success policy has met it.",
         _when(lambda w: w.new.complete and not w.new.success and "successPolicy" in w.new.spec)),
    StatusRule("S28", "conditions", "cannot disable the terminal {}=True condition",
         "Failed, Complete and FailureTarget are final.", _disabled_terminal, ("conditions",)),
    StatusRule("S29", "failed", "cannot decrease the failed counter", "Failures are not taken back.",
         _count(lambda w: w.new.count("failed") < w.old.count("failed")), ("failed",)),
    StatusRule("S30", "succeeded", "cannot decrease the succeeded counter",
         "Successes are not taken back, unless an Indexed Job with as many completions as parallelism was scaled down.",
         _count(_fewer_succeeded), ("succeeded",)),
    StatusRule("S31", "completionTime", "field is immutable", "The completion time does not change.",
         _value(lambda w: w.new.get("completionTime") is not None and w.old.get("completionTime") is not None
                and w.changed("completionTime")), ("completionTime",)),
    StatusRule("S32", "startTime", "startTime cannot be removed for unsuspended job",
         "The start time of a running Job stays, unless the Job is being resumed.", _needs(_start_time_taken),
         ("startTime",)),
    StatusRule("S33", "conditions", "cannot disable the SuccessCriteriaMet=True condition", "SuccessCriteriaMet "
        "is final.",
         _when(lambda w: w.old.success and not w.new.success), ("conditions",)),
    StatusRule("S34", "conditions", "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
         "SuccessCriteriaMet does not come after Complete.",
         _when(lambda w: w.old.complete and not w.old.success and w.new.success), ("conditions",)),
)  # fmt: skip


@functools.lru_cache(1024)
def _breakable(changed: frozenset[str]) -> tuple[StatusRule, ...]:
    return tuple(rule for rule in RULES if not rule.touches or not changed.isdisjoint(rule.touches))


def broken_rules(new: Obj, old: Obj) -> list[tuple[StatusRule, FieldError]]:
    """Every violation with its rule, in the server's order."""
    write = StatusWrite(new, old)
    after, before = write.new.status, write.old.status
    changed = frozenset(name for name in after.keys() | before.keys() if after.get(name) != before.get(name))
    found = [(rule, error) for rule in _breakable(changed) for error in rule.check(write, rule)]
    return found if len(found) < 2 else _interleaved(found, write)


def _interleaved(found: list[tuple[StatusRule, FieldError]], write: StatusWrite) -> list[tuple[StatusRule, FieldError]]:
    """S6 and S7 are one scan over the uids: their errors come in the order of the uids."""
    places = {str(path): place for place, (path, _, _) in enumerate(_uids(write))}
    numbers = {rule.name: number for number, rule in enumerate(RULES)}
    numbers["S7"] = numbers["S6"]

    def rank(violation: tuple[StatusRule, FieldError]) -> tuple[int, int]:
        rule, error = violation
        return numbers[rule.name], places.get(error.field, 0)

    return sorted(found, key=rank)


def validate_job_status_update(new: Obj, old: Obj) -> list[FieldError]:
    """The errors of a write to a Job's status; the metadata is not checked."""
    return [error for _, error in broken_rules(new, old)]
