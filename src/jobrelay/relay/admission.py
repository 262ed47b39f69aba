"""Whether a workload may be placed, and on which workers: the gate before placement, for quotas and fair sharing.

An `AdmissionGate` answers for one original from what it has watched; it does no I/O. The answer becomes a part of the
`WorkloadSnapshot`, so that decisions stay pure functions of it. Each admission may have an id. An assignment notes the
id under which it was made: when the admission is taken back, or is another one by now, that run is over.

The end of a run is written down: a new assignment is committed that `waiting` marks, nothing is created for it, and
mirrors of earlier epochs are removed. The workload is placed anew when it is admitted again. When the last mirror is
proven gone before that, the runs that the assignment holds are written off, so that a gate that keeps quotas can see
that nothing of it runs any more (`has_runs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from jobrelay.kube import Object
from jobrelay.relay.worker_assignment import assignment_of
from jobrelay.relay.workload_kind import WorkloadRef
from jobrelay.workloads import Adapter


@dataclass(frozen=True, slots=True)
class Admitted:
    """It may be placed."""

    clusters: frozenset[str] | None = None
    """The workers that it may be placed on; any if it is None."""
    id: str = ""
    """Tells this admission from earlier and later ones of the same workload; empty if it cannot be taken back."""
    while_suspended: bool = False
    """Whether a worker is chosen although the original is suspended: the queue that admits it resumes it then.
    Its mirror is created after that."""
    why: str = ""
    """Who restricts the workers, for `explain`: 'its AdmissionCheck mk names a, b'."""
    asked: frozenset[str] = frozenset()
    """Workers with an admission of their own, which has to let it in before it is assigned there."""
    declined: Mapping[str, str] = field(default_factory=dict)
    """By worker: why its own admission does not let it in at present."""
    chosen: str = ""
    """The worker that has let it in, or that runs it already: it is assigned there without asking for room."""
    prebuilt: str = ""
    """The name that its queued object has on such workers; its mirrors there refer to it."""

    def not_allowed(self, workers: Iterable[str]) -> dict[str, str]:
        """Those of the workers that it may not be placed on, with the reason."""
        if self.clusters is None:
            return dict(self.declined)
        why = self.why or "its admission does not name it"
        return dict(self.declined) | {name: why for name in workers if name not in self.clusters}


@dataclass(frozen=True, slots=True)
class NotAdmitted:
    """It may not be placed now."""

    sentence: str
    requeue_after: float | None = None
    taken_back: bool = False
    """Whether it is known that it may not run any more either: its run is ended. Without that, what runs goes on:
    the gate may not have read everything yet."""
    shows_suspension: bool = False
    """Whether a suspended one shows that in its status while it waits, as its own controller would have it."""


AdmissionAnswer: TypeAlias = Admitted | NotAdmitted
ADMITTED: Final = Admitted()


def has_runs(original: Object) -> bool:
    """Whether something of an original may run, or be about to, on a worker."""
    to = assignment_of(original)
    return to is not None and (not to.waiting or bool(to.held))


class AdmissionGate(Protocol):
    """Answers for each original whether it may be placed."""

    def admission(self, adapter: Adapter, original: Object) -> AdmissionAnswer:
        """The answer for an original that is delegated and has not ended."""
        ...

    def ask(self, original: Object, worker: str) -> None:
        """Have one of the workers in `Admitted.asked` asked, since placement prefers it."""
        ...

    def subscribe(self, changed: Callable[[WorkloadRef], None]) -> Callable[[], None]:
        """Have `changed` called for each original whose answer may have changed; returns how to unsubscribe."""
        ...


class OpenGate:
    """Admits everything: there are no queues."""

    def admission(self, adapter: Adapter, original: Object) -> AdmissionAnswer:
        return ADMITTED

    def ask(self, original: Object, worker: str) -> None:
        raise AssertionError("no worker has an admission of its own")

    def subscribe(self, changed: Callable[[WorkloadRef], None]) -> Callable[[], None]:
        return lambda: None


class GateAfterQueues:
    """Asks our own queues first, and what they admit the other gate."""

    def __init__(self, queues: Callable[[Adapter, Object], AdmissionAnswer], other: AdmissionGate) -> None:
        self._queues, self._other = queues, other

    def admission(self, adapter: Adapter, original: Object) -> AdmissionAnswer:
        answer = self._queues(adapter, original)
        return answer if isinstance(answer, NotAdmitted) else self._other.admission(adapter, original)

    def ask(self, original: Object, worker: str) -> None:
        self._other.ask(original, worker)

    def subscribe(self, changed: Callable[[WorkloadRef], None]) -> Callable[[], None]:
        return self._other.subscribe(changed)
