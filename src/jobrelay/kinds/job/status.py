"""The rules for a write to a Job's status: what any controller, built in or external, may say about a Job.

Each rule has a number (S1 to S34), the field it names, the text that clients see, and a check. Most rules look only at what
a write changes, so that old bad data does not block unrelated writes, and so that a spec change which makes the status
outdated for a moment is not fatal. `RULES` is in the order in which the server reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from jobrelay.kinds.field import NO_VALUE, FieldError, Path, duplicate, invalid, required
from jobrelay.kinds.gostruct import json_value, struct_value
from jobrelay.kinds.job.indexes import IndexesError, first_overlap, parse_indexes
from jobrelay.kinds.strategy import Obj

Status = dict[str, Any]
_PATH: Final = Path("status")
_NEGATIVE: Final = "must be greater than or equal to 0"
_UNCOUNTED: Final = "io.k8s.api.batch.v1.UncountedTerminatedPods"
COMPLETE, FAILED, SUSPENDED = "Complete", "Failed", "Suspended"
FAILURE_TARGET, SUCCESS_CRITERIA_MET = "FailureTarget", "SuccessCriteriaMet"


def is_condition(status: Status, type_: str, value: str = "True") -> bool:
    """Whether some entry of that type has that status; types may repeat."""
    return any(c["type"] == type_ and c["status"] == value for c in status.get("conditions") or ())


def is_job_finished(job: Obj) -> bool:
    status = job.get("status") or {}
    return is_condition(status, COMPLETE) or is_condition(status, FAILED)


class Snapshot:
    """One version of a Job as the rules see it."""

    def __init__(self, job: Obj) -> None:
        self.spec: dict[str, Any] = job["spec"]
        self.status: Status = job.get("status") or {}
        true = {c["type"] for c in self.status.get("conditions") or () if c["status"] == "True"}
        self.complete, self.failed = COMPLETE in true, FAILED in true
        self.failure_target, self.success = FAILURE_TARGET in true, SUCCESS_CRITERIA_MET in true
        self.finished = self.complete or self.failed
        self.indexed = self.spec.get("completionMode") == "Indexed"

    def get(self, field: str) -> Any:
        return self.status.get(field)

    def count(self, field: str) -> int:
        value: int = self.status.get(field) or 0
        return value

    def uncounted(self, outcome: str) -> list[str]:
        return (self.status.get("uncountedTerminatedPods") or {}).get(outcome) or []


class Write:
    """A write to the status: the stored Job, the Job that shall replace it, and what differs."""

    def __init__(self, new: Obj, old: Obj) -> None:
        self.new, self.old = Snapshot(new), Snapshot(old)

    def changed(self, *fields: str) -> bool:
        return any(self.new.get(field) != self.old.get(field) for field in fields)

    def turned(self, *facts: str) -> bool:
        return any(getattr(self.new, fact) != getattr(self.old, fact) for fact in facts)


Check = Callable[[Write, "Rule"], Iterable[FieldError]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its number, the status field that its error names, the text, and the check that finds violations."""

    name: str
    field: str
    text: str
    check: Check

    @property
    def path(self) -> Path:
        return _PATH.child(self.field)

    def wrong(self, value: Any = NO_VALUE) -> FieldError:
        return invalid(self.path, value, self.text)

    def missing(self) -> FieldError:
        return required(self.path, self.text)


def _when(broken: Callable[[Write], bool]) -> Check:
    """A violation that is told without a value."""
    return lambda write, rule: [rule.wrong()] if broken(write) else ()


def _needs(broken: Callable[[Write], bool]) -> Check:
    """A value that is required and absent."""
    return lambda write, rule: [rule.missing()] if broken(write) else ()


def _value(broken: Callable[[Write], bool]) -> Check:
    """A violation that shows the field's value."""
    return lambda write, rule: [rule.wrong(write.new.get(rule.field) or 0)] if broken(write) else ()


def _time(broken: Callable[[Write], bool]) -> Check:
    return lambda write, rule: [rule.wrong(write.new.get(rule.field))] if broken(write) else ()


def _not_negative(write: Write, rule: Rule) -> Iterable[FieldError]:
    return [rule.wrong(write.new.get(rule.field))] if write.new.count(rule.field) < 0 else ()


def _uids(write: Write) -> Iterator[tuple[Path, str, bool]]:
    """Every uncounted pod uid with its place and whether it was there before."""
    seen: set[str] = set()
    for outcome in ("succeeded", "failed"):
        for index, uid in enumerate(write.new.uncounted(outcome)):
            yield _PATH.child("uncountedTerminatedPods", outcome).index(index), uid, uid in seen
            seen.add(uid)


def _empty_uids(write: Write, rule: Rule) -> Iterable[FieldError]:
    if write.new.get("uncountedTerminatedPods"):
        return [invalid(path, uid, rule.text) for path, uid, _ in _uids(write) if not uid]
    return ()


def _repeated_uids(write: Write, rule: Rule) -> Iterable[FieldError]:
    if write.new.get("uncountedTerminatedPods"):
        return [duplicate(path, uid) for path, uid, again in _uids(write) if uid and again]
    return ()


def _before_start(write: Write) -> bool:
    start, end = write.new.get("startTime"), write.new.get("completionTime")
    return write.changed("startTime", "completionTime") and bool(start and end) and end < start


def _finished_unstarted(write: Write) -> bool:
    spec = write.new.spec
    never_runs = spec.get("suspend") is True and spec.get("completions") == 0
    relevant = (write.turned("finished") or write.changed("startTime")) and not never_runs
    return relevant and write.new.finished and write.new.get("startTime") is None


def _uncounted_when_finished(write: Write, rule: Rule) -> Iterable[FieldError]:
    relevant = write.turned("finished") or write.changed("uncountedTerminatedPods")
    if relevant and write.new.finished and (write.new.uncounted("succeeded") or write.new.uncounted("failed")):
        return [rule.wrong(struct_value(write.new.get(rule.field), _UNCOUNTED))]
    return ()


def _bad_completed_indexes(write: Write, rule: Rule) -> Iterable[FieldError]:
    completions = write.new.spec.get("completions")
    if completions is None or not write.changed(rule.field):
        return ()
    return _malformed(rule, write.new.get(rule.field) or "", completions)


def _bad_failed_indexes(write: Write, rule: Rule) -> Iterable[FieldError]:
    spec, text = write.new.spec, write.new.get(rule.field)
    if not write.changed(rule.field) or text is None or "completions" not in spec or "backoffLimitPerIndex" not in spec:
        return ()
    return _malformed(rule, text, spec["completions"])


def _malformed(rule: Rule, text: str, completions: int) -> Iterable[FieldError]:
    try:
        parse_indexes(text, completions)
    except IndexesError as error:
        return [invalid(rule.path, json_value(text), f"{rule.text}{error}")]
    return ()


def _overlapping_indexes(write: Write, rule: Rule) -> Iterable[FieldError]:
    completed, failed = write.new.get("completedIndexes") or "", write.new.get("failedIndexes") or ""
    completions = write.new.spec.get("completions")
    if completions is None or not completed or not failed or not write.changed("failedIndexes", "completedIndexes"):
        return ()
    index = first_overlap(completed, failed, completions)
    return [] if index is None else [invalid(rule.path, failed, f"{rule.text}{index}")]


def _disabled_terminal(write: Write, rule: Rule) -> Iterable[FieldError]:
    for type_, fact in ((FAILED, "failed"), (COMPLETE, "complete"), (FAILURE_TARGET, "failure_target")):
        if getattr(write.old, fact) and not getattr(write.new, fact):
            yield invalid(rule.path, NO_VALUE, rule.text.format(type_))


def _elastic(write: Write) -> bool:
    spec = write.new.spec
    return write.new.indexed and spec.get("completions") == spec.get("parallelism")


def _start_time_taken(write: Write) -> bool:
    resuming = is_condition(write.old.status, SUSPENDED) and is_condition(write.new.status, SUSPENDED, "False")
    moved = write.old.get("startTime") is not None and write.changed("startTime") and not resuming
    return moved and not write.new.spec.get("suspend", False)


RULES: Final[tuple[Rule, ...]] = (
    Rule("S1", "active", _NEGATIVE, _not_negative),
    Rule("S2", "succeeded", _NEGATIVE, _not_negative),
    Rule("S3", "failed", _NEGATIVE, _not_negative),
    Rule("S4", "ready", _NEGATIVE, _not_negative),
    Rule("S5", "terminating", _NEGATIVE, _not_negative),
    Rule("S6", "uncountedTerminatedPods", "must not be empty", _empty_uids),
    Rule("S7", "uncountedTerminatedPods", "", _repeated_uids),
    Rule("S8", "conditions", "cannot set Complete=True and Failed=true conditions",
         _when(lambda w: w.new.complete and w.new.failed and w.turned("complete", "failed"))),
    Rule("S9", "conditions", "cannot set Complete=True and FailureTarget=true conditions",
         _when(lambda w: w.new.complete and w.new.failure_target and w.turned("complete", "failure_target"))),
    Rule("S10", "completionTime", "cannot set completionTime when there is no Complete=True condition",
         _time(lambda w: not w.new.complete and w.new.get("completionTime") is not None
               and (w.turned("complete") or w.changed("completionTime")))),
    Rule("S11", "completionTime", "completionTime is required for Complete jobs",
         _needs(lambda w: w.new.complete and w.new.get("completionTime") is None
                and (w.turned("complete") or w.changed("completionTime")))),
    Rule("S12", "completionTime", "must be equal to or after `startTime`", _time(_before_start)),
    Rule("S13", "conditions", "cannot set Failed=True condition without the FailureTarget=true condition",
         _when(lambda w: w.new.failed and not w.new.failure_target
               and (w.turned("failed") or w.changed("failedIndexes")))),
    Rule("S14", "conditions", "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
         _when(lambda w: w.new.complete and not w.new.success and w.turned("complete", "success"))),
    Rule("S15", "active", "active>0 is invalid for finished job",
         _value(lambda w: w.new.finished and w.new.count("active") > 0
                and (w.turned("finished") or w.new.count("active") != w.old.count("active")))),
    Rule("S16", "startTime", "startTime is required for finished job", _needs(_finished_unstarted)),
    Rule("S17", "uncountedTerminatedPods", "must be empty for finished job", _uncounted_when_finished),
    Rule("S18", "completedIndexes", "error parsing completedIndexes: ", _bad_completed_indexes),
    Rule("S19", "failedIndexes", "error parsing failedIndexes: ", _bad_failed_indexes),
    Rule("S20", "completedIndexes", "cannot set non-empty completedIndexes when non-indexed completion mode",
         _value(lambda w: bool(w.new.get("completedIndexes")) and not w.new.indexed and w.changed("completedIndexes"))),
    Rule("S21", "failedIndexes", "cannot set non-null failedIndexes when backoffLimitPerIndex is null",
         _time(lambda w: w.new.get("failedIndexes") is not None and "backoffLimitPerIndex" not in w.new.spec
               and w.changed("failedIndexes"))),
    Rule("S22", "failedIndexes", "failedIndexes and completedIndexes overlap at index: ", _overlapping_indexes),
    Rule("S23", "terminating", "terminating>0 is invalid for finished job",
         _value(lambda w: w.new.finished and w.new.count("terminating") > 0
                and (w.turned("finished") or w.changed("terminating")))),
    Rule("S24", "ready", "cannot set more ready pods than active",
         _time(lambda w: w.new.get("ready") is not None and w.new.get("ready") > w.new.count("active")
               and (w.changed("ready") or w.new.count("active") != w.old.count("active")))),
    Rule("S25", "conditions", "cannot set SuccessCriteriaMet=True and Failed=true conditions",
         _when(lambda w: w.new.success and w.new.failed)),
    Rule("S26", "conditions", "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
         _when(lambda w: w.new.success and w.new.failure_target)),
    Rule("S27", "conditions", "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True",
         _when(lambda w: w.new.complete and not w.new.success and "successPolicy" in w.new.spec)),
    Rule("S28", "conditions", "cannot disable the terminal {}=True condition", _disabled_terminal),
    Rule("S29", "failed", "cannot decrease the failed counter",
         _value(lambda w: w.new.count("failed") < w.old.count("failed"))),
    Rule("S30", "succeeded", "cannot decrease the succeeded counter",
         _value(lambda w: w.new.count("succeeded") < w.old.count("succeeded") and not _elastic(w))),
    Rule("S31", "completionTime", "field is immutable",
         _time(lambda w: w.new.get("completionTime") is not None and w.old.get("completionTime") is not None
               and w.changed("completionTime"))),
    Rule("S32", "startTime", "startTime cannot be removed for unsuspended job", _needs(_start_time_taken)),
    Rule("S33", "conditions", "cannot disable the SuccessCriteriaMet=True condition",
         _when(lambda w: w.old.success and not w.new.success)),
    Rule("S34", "conditions", "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
         _when(lambda w: w.old.complete and not w.old.success and w.new.success)),
)  # fmt: skip


def broken_rules(new: Obj, old: Obj) -> list[tuple[Rule, FieldError]]:
    """Every violation with its rule, in the server's order."""
    write = Write(new, old)
    found = [(rule, error) for rule in RULES for error in rule.check(write, rule)]
    if not found:
        return found
    places = {str(path): place for place, (path, _, _) in enumerate(_uids(write))}
    numbers = {rule.name: number for number, rule in enumerate(RULES)}

    def rank(violation: tuple[Rule, FieldError]) -> tuple[int, int]:
        rule, error = violation
        if rule.name in ("S6", "S7"):  # one scan over the uids in the server
            return numbers["S6"], places[error.field]
        return numbers[rule.name], 0

    return sorted(found, key=rank)


def validate_job_status_update(new: Obj, old: Obj) -> list[FieldError]:
    """What is wrong with a write to a Job's status; the metadata is not looked at."""
    return [error for _, error in broken_rules(new, old)]
