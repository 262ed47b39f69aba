"""Judges one step of a Job's life: two versions of the Job that follow each other.

Everything here is a pure function of the two versions. A write changes either the spec or the status, so a step in
which the status is the same breaks no rule about statuses, whatever the spec has become. The rules of the API server
come first; a step that breaks one of them is not checked further. Each check of the others gets a `JobStep` and says
what is wrong, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from jobrelay.apimachinery.times import parse_time
from jobrelay.conformance.rules import Violation, rule_named
from jobrelay.kinds.batch.job.conditions import ENDS
from jobrelay.kinds.batch.job.indexes import Indexes
from jobrelay.kinds.batch.job.names import SUSPENDED
from jobrelay.kinds.batch.job.write import StatusWrite, is_condition
from jobrelay.kit.rules import canonical_job, check_status

__all__ = ["judge_step", "status_writers"]

Obj = dict[str, Any]
_SKEW: Final = timedelta(seconds=5)
"""How far the clocks of a controller and of its API server may be apart."""


def judge_step(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Violation, ...]:
    """The rules that a Job broke by becoming `new`; of a Job that was just created, `old` is the same without a status.

    Raises `apimachinery.decode.DecodeError` if one of them is not a Job.
    """
    before, after = canonical_job(old), canonical_job(new)
    if _same_status(before, after):
        return ()
    found = [
        Violation(rule_named(broken.name), f"{broken.field}: {broken.message}")
        for broken in check_status({**after, "status": before.get("status") or {}}, after.get("status") or {})
    ]
    if found:
        return tuple(found)
    step = JobStep(StatusWrite(after, before), status_writers(old), status_writers(new), after["metadata"])
    return tuple(Violation(rule_named(name), text) for name, check in _CHECKS.items() for text in check(step))


def status_writers(job: Mapping[str, Any]) -> frozenset[str]:
    """The programs that own fields of a Job's status, as its managedFields name them."""
    entries = (job.get("metadata") or {}).get("managedFields") or ()
    return frozenset(each.get("manager", "") for each in entries if each.get("subresource") == "status")


def _same_status(old: Obj, new: Obj) -> bool:
    return bool((old.get("status") or {}) == (new.get("status") or {}))


@dataclass(frozen=True, slots=True)
class JobStep:
    """Two versions of a Job, who has written their statuses, and the newer one's metadata."""

    write: StatusWrite
    writers_before: frozenset[str]
    writers: frozenset[str]
    metadata: Obj

    @property
    def spec(self) -> Obj:
        return self.write.new.spec

    def indexes(self, field: str) -> tuple[Indexes, Indexes]:
        """The old and the new indexes of a field, as far as they are below completions now."""
        below = self.spec.get("completions") or 0
        old, new = self.write.old.get(field) or "", self.write.new.get(field) or ""
        return Indexes.parse(old, below), Indexes.parse(new, below)

    def accounted(self, outcome: str) -> tuple[int, int]:
        """How many pods were and are counted or listed as uncounted."""
        old, new = self.write.old, self.write.new
        return old.count(outcome) + len(old.uncounted(outcome)), new.count(outcome) + len(new.uncounted(outcome))


Check = Callable[[JobStep], Iterator[str]]


def _conditions(status: Mapping[str, Any]) -> dict[str, Obj]:
    return {each["type"]: each for each in status.get("conditions") or () if each["status"] == "True"}


def _announced(step: JobStep) -> Iterator[str]:
    old, new = _conditions(step.write.old.status), _conditions(step.write.new.status)
    for end in ENDS:
        if end.terminal in new and end.terminal not in old and end.interim not in old:
            yield f"{end.terminal} came in the same write as {end.interim}"


def _same_reason(step: JobStep) -> Iterator[str]:
    old, new = _conditions(step.write.old.status), _conditions(step.write.new.status)
    for end in ENDS:
        if end.terminal not in new or end.terminal in old or end.interim not in new:
            continue
        for field in ("reason", "message"):
            announced, final = (new[type_].get(field, "") for type_ in end)
            if announced != final:
                yield f"the {field} of {end.interim} is {announced!r}, that of {end.terminal} is {final!r}"


def _once(step: JobStep) -> Iterator[str]:
    types = [each["type"] for each in step.write.new.status.get("conditions") or ()]
    before = [each["type"] for each in step.write.old.status.get("conditions") or ()]
    for type_ in dict.fromkeys(types):
        if types.count(type_) > 1 and before.count(type_) < types.count(type_):
            yield f"there are {types.count(type_)} conditions of type {type_}"


def _final(step: JobStep) -> Iterator[str]:
    old, new = step.write.old.status, step.write.new.status
    if step.write.old.finished:
        changed = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
        yield f"status.{', status.'.join(changed)} changed after the end"


def _indexes_counted(step: JobStep) -> Iterator[str]:
    new = step.write.new
    completed = len(step.indexes("completedIndexes")[1])
    if new.indexed and new.count("succeeded") != completed:
        yield f"succeeded is {new.count('succeeded')}, completedIndexes is {new.get('completedIndexes') or ''!r}"


def _indexes_kept(step: JobStep) -> Iterator[str]:
    for field in ("completedIndexes", "failedIndexes") if step.write.new.indexed else ():
        old, new = step.indexes(field)
        if lost := old - new:
            yield f"{lost} is not in {field} any more"


def _enough(step: JobStep) -> Iterator[str]:
    write = step.write
    if not write.new.complete or write.old.complete or "successPolicy" in step.spec:
        return
    wanted = step.spec.get("completions")
    wanted = 1 if wanted is None else wanted
    if write.new.count("succeeded") < wanted:
        yield f"it is Complete with {write.new.count('succeeded')} of {wanted} successes"


def _bounded(step: JobStep) -> Iterator[str]:
    active, parallelism = step.write.new.count("active"), step.spec.get("parallelism", 1)
    if active > parallelism and active > step.write.old.count("active"):
        yield f"active is {active}, parallelism is {parallelism}"


def _started(step: JobStep) -> Iterator[str]:
    if step.write.new.count("active") and step.write.new.get("startTime") is None:
        yield f"active is {step.write.new.count('active')}, and startTime is not set"


def _held(step: JobStep) -> Iterator[str]:
    active, before = step.write.new.count("active"), step.write.old.count("active")
    if step.spec.get("suspend") and active > before:
        yield f"active went from {before} to {active} while spec.suspend is true"


def _suspended(step: JobStep) -> Iterator[str]:
    old, new = step.write.old.status, step.write.new.status
    if is_condition(new, SUSPENDED) and not is_condition(old, SUSPENDED) and not step.spec.get("suspend"):
        yield "Suspended became True, and spec.suspend is false"


def _one_writer(step: JobStep) -> Iterator[str]:
    if len(step.writers) > 1 and step.writers != step.writers_before:
        yield f"the status was written by {' and '.join(sorted(step.writers))}"


def _after_creation(step: JobStep) -> Iterator[str]:
    start, created = step.write.new.get("startTime"), step.metadata.get("creationTimestamp")
    if start and created and step.write.changed("startTime") and parse_time(start) + _SKEW < parse_time(created):
        yield f"startTime is {start}, the Job was created at {created}"


def _counted(step: JobStep) -> Iterator[str]:
    for outcome in ("failed",) if step.write.new.indexed else ("succeeded", "failed"):
        before, now = step.accounted(outcome)
        listed = len(step.write.old.uncounted(outcome))
        if now < before:
            yield f"{listed} {outcome} pods were uncounted, and {before - now} of them were not added to {outcome}"


_CHECKS: Final[dict[str, Check]] = {
    "C1": _announced, "C2": _same_reason, "C3": _once, "C4": _final, "C5": _indexes_counted, "C6": _indexes_kept,
    "C7": _enough, "C8": _bounded, "C9": _started, "C10": _held, "C11": _suspended, "C12": _one_writer,
    "C13": _after_creation, "C14": _counted,
}  # fmt: skip
