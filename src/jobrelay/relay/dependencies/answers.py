"""Which of the objects that workloads name exist on each worker, as far as the workers were asked.

Nothing is watched for this: the relay has no need to see all Secrets of a worker. A worker is asked about an object
when a workload that names it is placed, and its answer is believed for a short time, so that one request serves a
batch. What is missing is asked again soon, and less and less often while it stays missing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import msgspec
from msgspec.structs import replace

from jobrelay.kube import Clock, Object
from jobrelay.workloads import ObjectName

_FARTHEST: Final = timedelta(minutes=10)
"""No answer is believed for longer."""
_MOST: Final = 4096
"""How many answers of one worker are remembered."""
_MOST_DEFINITIONS: Final = 256
_FIXED: Final = "not copied, since another object names it"
MOST_ASKED: Final = 64
"""About how many objects a worker is asked for one workload."""


class Presence(StrEnum):
    """What a worker answered about an object."""

    PRESENT = "present"
    MISSING = "missing"
    COPYABLE = "copyable"
    """It is missing, and can be copied there from the management cluster before a mirror is created."""
    UNCHECKED = "unchecked"
    """It may not be read there, or its kind is not served: not known."""


class Answer(msgspec.Struct, frozen=True):
    """What is known about one object on one worker."""

    presence: Presence
    until: datetime
    """When to ask again."""
    detail: str = ""
    """Why it cannot be checked, or why it cannot be copied."""
    times: int = 1
    """How often in a row it was missing."""


Answers = Mapping[ObjectName, Answer]
NO_ANSWERS: Final[Answers] = {}


class DependencyAnswers:
    """The answers of all workers; only the newest few thousand of each are kept.

    An answer is believed for `longest` seconds; that an object is missing for `first` seconds, and for twice as long
    each time it still is.
    """

    def __init__(self, clock: Clock, first: float, longest: float) -> None:
        self._clock, self._first, self._longest = clock, first, longest
        self._known: dict[str, dict[ObjectName, Answer]] = {}
        self._definitions: dict[ObjectName, Object] = {}
        self.known: Mapping[str, Answers] = MappingProxyType(self._known)
        """By worker."""
        self.definitions: Mapping[ObjectName, Object] = MappingProxyType(self._definitions)
        """Objects that name others in turn, as the management cluster has them: pipelines, runtimes."""

    def record(self, worker: str, target: ObjectName, presence: Presence, detail: str = "") -> None:
        """A worker was asked about an object."""
        answers = self._known.setdefault(worker, {})
        before, times, wait = answers.pop(target, None), 1, self._longest
        if presence is Presence.MISSING:
            times = before.times + 1 if before is not None and before.presence is presence else 1
            wait = min(self._first * 2.0 ** min(times - 1, 10), self._longest)
        if len(answers) >= _MOST:
            del answers[next(iter(answers))]
        answers[target] = Answer(presence, self._clock.now() + timedelta(seconds=wait), detail, times)

    def define(self, target: ObjectName, definition: Object | None) -> None:
        """A custom resource that a workload names was read on the management cluster, or is not there."""
        self._definitions.pop(target, None)
        if definition is not None:
            if len(self._definitions) >= _MOST_DEFINITIONS:
                del self._definitions[next(iter(self._definitions))]
            self._definitions[target] = definition

    def forget_worker(self, worker: str) -> None:
        self._known.pop(worker, None)


def unanswered(targets: Iterable[ObjectName], answers: Answers, now: datetime) -> list[ObjectName]:
    """The objects about which a worker has to be asked, for the first time or again.

    An answer that would be believed for long is from before our clock was put back.
    """
    latest = now + _FARTHEST
    return [each for each in targets if (known := answers.get(each)) is None or not now < known.until <= latest]


def missing(
    targets: Iterable[ObjectName], answers: Answers, fixed: Collection[ObjectName] = ()
) -> dict[ObjectName, Answer]:
    """The objects that a worker lacks by its last answer, even if that is old: it holds until there is another.

    A copy is of no use to a workload where the name is `fixed`.
    """
    found: dict[ObjectName, Answer] = {}
    for each in targets:
        known = answers.get(each)
        if known is not None and known.presence is Presence.MISSING:
            found[each] = known
        elif known is not None and known.presence is Presence.COPYABLE and each in fixed:
            found[each] = replace(known, detail=_FIXED)
    return found
