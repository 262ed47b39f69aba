"""Whether a workload may be placed, and on which workers: the gate before placement, for quotas and fair sharing.

An `AdmissionGate` answers for one original from what it has watched; it does no I/O. The answer becomes a part of the
`WorkloadSnapshot`, so that decisions stay pure functions of it. Each admission has an id. An assignment notes the id
under which it was made: when the admission is taken back, or is another one by now, that run is over, its mirror is
removed, and the workload is placed anew when it is admitted again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from jobrelay.kube import Object
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
    """Whether a worker is chosen although the original is suspended: whoever admits it resumes it when one is chosen.
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


@dataclass(frozen=True, slots=True)
class NotAdmitted:
    """It may not be placed now."""

    sentence: str
    requeue_after: float | None = None
    taken_back: bool = False
    """Whether it is known that it may not run any more either: its mirror is removed. Without that, what runs goes on:
    whoever admits may not have read everything yet."""


Admission: TypeAlias = Admitted | NotAdmitted
ADMITTED: Final = Admitted()


class AdmissionGate(Protocol):
    """Answers for each original whether it may be placed."""

    def admission(self, adapter: Adapter, original: Object) -> Admission:
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

    def admission(self, adapter: Adapter, original: Object) -> Admission:
        return ADMITTED

    def ask(self, original: Object, worker: str) -> None:
        raise AssertionError("no worker has an admission of its own")

    def subscribe(self, changed: Callable[[WorkloadRef], None]) -> Callable[[], None]:
        return lambda: None
