"""Claims: workers that are kept free for workloads that have waited long, so that none of them starves.

A workload that needs much room at once would wait as long as smaller ones take every piece that becomes free. So after
a time in line it claims one worker, which then gets nothing else of the same or a lower priority until the claim is
met. All other workers stay open to all workloads, and the claimant takes room on them too, if that comes first.

A claim costs what stands empty meanwhile. Therefore a workload claims the worker that lacks least, it does so only when
it has waited several times as long as others do, and after a claim there is none for a while, so that on average over
time no more than a share of all workers is kept free.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Final, Generic, NamedTuple, TypeVar

from jobrelay.relay.model import Claimant
from jobrelay.relay.placement.candidate import Candidate

T = TypeVar("T", bound=Hashable)
PATIENCE: Final = 600.0
"""How many seconds a workload waits at least before it claims a worker."""
TIMES_TYPICAL: Final = 8.0
"""And how many times the typical wait of recently placed workloads."""
SHARE: Final = 10
"""On average over time, at most one in this number of workers is claimed."""
_LATELY: Final = 500
"""Of how many workloads the waits count in the typical one."""


class LineRank(NamedTuple):
    """What decides about the order of two workloads: the lower one comes first."""

    urgency: int
    """The negative priority."""
    since: float | str
    """When it was created: all ranks of a line have the same type here."""


class Claim(NamedTuple, Generic[T]):
    """A worker that is kept free for a workload, since when in monotonic time."""

    workload: T
    claimant: Claimant
    rank: LineRank
    worker: str
    since: float


class Claims(Generic[T]):
    """At most one claim on each worker and one of each workload. `count` says how many workers there are."""

    def __init__(self, count: Callable[[], int], changed: Callable[[str], None] = lambda worker: None) -> None:
        self._count, self._changed = count, changed
        self._by_worker: dict[str, Claim[T]] = {}
        self._by_workload: dict[T, Claim[T]] = {}
        self._pause_until = 0.0
        self._typical = 0.0

    def on(self, worker: str) -> Claimant | None:
        """Who a worker is kept free for."""
        found = self._by_worker.get(worker)
        return found.claimant if found is not None else None

    def of(self, workload: T) -> str:
        """The worker that a workload has claimed; empty if there is none."""
        found = self._by_workload.get(workload)
        return found.worker if found is not None else ""

    def may_claim(self, workload: T, rank: LineRank, waited: float, now: float) -> bool:
        """Whether a workload that has waited so long may claim a worker now."""
        if waited < max(PATIENCE, TIMES_TYPICAL * self._typical) or workload in self._by_workload:
            return False
        if len(self._by_workload) < self._most and now >= self._pause_until:
            return True
        return any(rank.urgency < each.rank.urgency for each in self._by_workload.values())

    def grant(self, claim: Claim[T]) -> None:
        """Keep a worker free for a workload; if there are too many claims, the last in line gives up its own."""
        self.release(claim.workload, claim.since)
        if len(self._by_workload) >= self._most:
            self.release(max(self._by_workload.values(), key=lambda each: each.rank).workload, claim.since)
        self._by_worker[claim.worker] = self._by_workload[claim.workload] = claim
        self._changed(claim.worker)

    def release(self, workload: T, now: float) -> bool:
        """A workload does not wait any more, or its claim cannot be met; returns whether it had one."""
        found = self._by_workload.pop(workload, None)
        if found is None:
            return False
        del self._by_worker[found.worker]
        idle = SHARE / max(self._count(), 1) - 1
        self._pause_until = max(self._pause_until, now + idle * (now - found.since))
        self._changed(found.worker)
        return True

    def placed(self, waited: float) -> None:
        """A workload was placed after it had waited so long."""
        self._typical += (waited - self._typical) / _LATELY

    @property
    def _most(self) -> int:
        return max(1, self._count() // SHARE)


def choose_claim(candidates: Iterable[Candidate], claimed: str = "") -> str:
    """The worker that a workload without room claims; empty if none can ever have room for all of it.

    It is the one that is `claimed` already, as long as it can have room, or else the one that lacks least.
    """
    able = [one for one in candidates if one.rejected is None and one.fits_when_empty]
    best = min(
        able, key=lambda one: (one.worker.name != claimed, -one.pods_fitting, _lack(one), one.position), default=None
    )
    return best.worker.name if best is not None else ""


def _lack(candidate: Candidate) -> float:
    """The largest share of a resource on all nodes that a workload needs beyond what is free."""
    resources, reserved = candidate.fit.resources if candidate.fit is not None else (), candidate.worker.reserved
    return max(
        ((one.requested - one.free + one.taken(reserved)) / one.allocatable for one in resources if one.allocatable),
        default=0.0,
    )
