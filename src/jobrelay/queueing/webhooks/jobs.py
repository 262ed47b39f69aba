"""Checks of queued objects of all kinds, and of Jobs in particular: labels and annotations that say how they queue.

An object that waits may change its queue; one that runs may not. A delegated object need not be suspended to wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, forbidden, go_quote, invalid
from jobrelay.apimachinery.goint import read_int
from jobrelay.apimachinery.meta import IMMUTABLE, validate_immutable_field
from jobrelay.apimachinery.names import is_dns1123_subdomain
from jobrelay.kube import Object
from jobrelay.kube.resource import JOBS
from jobrelay.queueing import names
from jobrelay.queueing.integrations.podsets import pods_at_once
from jobrelay.queueing.webhooks.gates import check_gates
from jobrelay.relay.admission import has_runs
from jobrelay.workloads import Adapter

_METADATA: Final = Path("metadata")
_QUEUE: Final = _METADATA.child("labels").key(names.QUEUE_NAME)
_PRIORITY: Final = _METADATA.child("labels").key(names.PRIORITY_CLASS)
_TIME: Final = _METADATA.child("labels").key(names.MAX_EXEC_TIME)
_MINIMUM: Final = _METADATA.child("annotations").key(names.MIN_PARALLELISM)
_EQUAL: Final = _METADATA.child("annotations").key(names.COMPLETIONS_EQUAL_PARALLELISM)
_BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}
_LARGEST: Final = 2**63


@dataclass(frozen=True, slots=True)
class WrittenObject:
    """An object that is written, and how its kind is read."""

    adapter: Adapter
    obj: Object

    @property
    def waits(self) -> bool:
        """Whether it is not started: it is suspended, or is delegated and has no run."""
        facts = self.adapter.read(self.obj)
        return facts.suspended or (facts.managed_by in self.adapter.managers and not has_runs(self.obj))

    @property
    def labels(self) -> Mapping[str, str]:
        return self.obj.metadata.labels

    @property
    def annotations(self) -> Mapping[str, str]:
        return self.obj.metadata.annotations

    @property
    def fields(self) -> dict[str, Any]:
        return self.obj.decode()


def check_object(new: WrittenObject, old: WrittenObject | None) -> list[FieldError]:
    """The errors of an object that may be queued."""
    errors = [*_check_labels(new), *check_gates(new.fields, old.fields if old is not None else None)]
    if new.adapter.resource == JOBS:
        errors += _check_job(new, old)
    return errors if old is None else [*errors, *_check_changes(new, old)]


def _check_labels(new: WrittenObject) -> Iterator[FieldError]:
    queue, time = new.labels.get(names.QUEUE_NAME), new.labels.get(names.MAX_EXEC_TIME)
    if queue is not None and (texts := is_dns1123_subdomain(queue)):
        yield invalid(_QUEUE, queue, ",".join(texts))
    if time is not None:
        seconds = _integer(time)
        if seconds is None:
            yield invalid(_TIME, time, _not_an_integer(time))
        elif seconds <= 0:
            yield invalid(_TIME, seconds, "should be greater than 0")


def _check_changes(new: WrittenObject, old: WrittenObject) -> Iterator[FieldError]:
    if not new.waits:
        yield from validate_immutable_field(
            new.labels.get(names.QUEUE_NAME, ""), old.labels.get(names.QUEUE_NAME, ""), _QUEUE
        )
    if not (new.waits and old.waits):
        yield from validate_immutable_field(
            new.labels.get(names.MAX_EXEC_TIME, ""), old.labels.get(names.MAX_EXEC_TIME, ""), _TIME
        )
    after, before = new.labels.get(names.PRIORITY_CLASS, ""), old.labels.get(names.PRIORITY_CLASS, "")
    if after and not before and not new.waits:
        yield invalid(_PRIORITY, after, "WorkloadPriorityClass cannot be added to a non-suspended workload")
    if before and not after:
        yield invalid(_PRIORITY, after, "WorkloadPriorityClass cannot be removed from a workload")


def _check_job(new: WrittenObject, old: WrittenObject | None) -> Iterator[FieldError]:
    if old is None or new.annotations.get(names.MIN_PARALLELISM) != old.annotations.get(names.MIN_PARALLELISM):
        yield from _check_minimum(new)
    yield from _check_equal(new)
    if old is not None:
        yield from _check_job_changes(new, old)


def _check_minimum(job: WrittenObject) -> Iterator[FieldError]:
    text = job.annotations.get(names.MIN_PARALLELISM)
    if text is None:
        return
    minimum, count = _integer(text), pods_at_once(job.obj)
    if minimum is None:
        yield invalid(_MINIMUM, text, _not_an_integer(text))
    elif not 0 < minimum < count:
        yield invalid(_MINIMUM, minimum, f"should be between 0 and {count - 1}")


def _check_equal(job: WrittenObject) -> Iterator[FieldError]:
    text = job.annotations.get(names.COMPLETIONS_EQUAL_PARALLELISM)
    if text is None:
        return
    if text not in _BOOLEANS:
        yield invalid(_EQUAL, text, f"strconv.ParseBool: parsing {go_quote(text)}: invalid syntax")
    if not _BOOLEANS.get(text, False):
        return
    spec = job.fields["spec"]
    if spec.get("completionMode", "NonIndexed") == "NonIndexed":
        yield invalid(_EQUAL, text, "should not be enabled for NonIndexed jobs")
    if spec.get("parallelism", 1) != spec.get("completions", 1):
        detail = f"should be equal to parallelism when {names.COMPLETIONS_EQUAL_PARALLELISM} annotation is true"
        yield invalid(Path("spec").child("completions"), spec.get("completions"), detail)


def _check_job_changes(new: WrittenObject, old: WrittenObject) -> Iterator[FieldError]:
    after, before = new.fields["spec"], old.fields["spec"]
    resized = after.get("parallelism", 1) != before.get("parallelism", 1)
    if resized and names.MIN_PARALLELISM in old.annotations and not old.waits:
        detail = "cannot change when partial admission is enabled and the job is not suspended"
        yield forbidden(Path("spec").child("parallelism"), detail)
    if not new.waits and not old.waits and _is_equal(new) != _is_equal(old):
        yield forbidden(_EQUAL, f"{IMMUTABLE} while the job is not suspended")


def _is_equal(job: WrittenObject) -> bool:
    return _BOOLEANS.get(job.annotations.get(names.COMPLETIONS_EQUAL_PARALLELISM, ""), False)


def _integer(text: str) -> int | None:
    """An integer as Go's Atoi reads it; None if it is not one."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    value = read_int(text)
    return value if -_LARGEST <= value < _LARGEST else None


def _not_an_integer(text: str) -> str:
    digits = text[1:] if text[:1] in ("+", "-") else text
    why = "value out of range" if digits.isascii() and digits.isdigit() else "invalid syntax"
    return f"strconv.Atoi: parsing {go_quote(text)}: {why}"
