"""The line: workloads that no worker can take at present, in the order in which they are to start.

Those of higher priority come first, then older ones. When something about the workers changes, the line is tried in
rounds: the first is tried, and when it is known whether it was placed, the next. Workloads of one group get the same
answer, so the others of a group are skipped for the rest of a round once one of them found no room. A round costs one
attempt for each group and one for each workload that is placed, however long the line is.

A workload that joins a line waits behind those of its group, and behind all while a round is due or under way: what is
free now is offered first to those that have waited for it. One that has waited long may claim a worker (`claims`).
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterator
from typing import Final, Generic, NamedTuple, TypeVar

from jobrelay.kube.clock import Clock, Timer
from jobrelay.relay.claims import Claim, Claims, LineRank
from jobrelay.relay.model import Claimant

T = TypeVar("T", bound=Hashable)
_PATIENCE: Final = 1.0
"""After how many seconds without an answer about the workload that is tried a round goes on without it."""


class _Place(NamedTuple):
    rank: LineRank
    arrival: int
    """Distinguishes workloads that were created at the same time."""


class Turn(NamedTuple):
    """Whether it is a workload's turn to be placed, and who is before it."""

    now: bool
    ahead: int
    alike: int
    """How many of those are of its own group."""
    may_claim: bool = False
    """Whether it may claim a worker if none has room for it."""
    claimed: str = ""
    """The worker that it has claimed."""


class _Entry(NamedTuple):
    group: str
    place: _Place
    joined: float
    """In monotonic time."""


class _Group(Generic[T]):
    __slots__ = ("places", "stuck", "workloads")

    def __init__(self) -> None:
        self.places: list[_Place] = []
        self.workloads: dict[_Place, T] = {}
        self.stuck = False


class PendingWorkloads(Generic[T]):
    """Workloads by group and in line; `enqueue` has one tried, after which `add`, `placed` or `discard` is called."""

    def __init__(
        self, clock: Clock, enqueue: Callable[[T], None], claims: Claims[T] | None = None, *, pause: float = 0.1
    ) -> None:
        self._clock, self._enqueue, self._pause = clock, enqueue, pause
        self.claims: Claims[T] = claims if claims is not None else Claims(lambda: 1)
        self._groups: dict[str, _Group[T]] = {}
        self._found: dict[T, _Entry] = {}
        self._arrivals = 0
        self._timer: Timer | None = None
        self._round: list[tuple[_Place, str]] = []
        """A heap: by group, the place of the next workload to try."""
        self._trying: T | None = None
        self._tried_at = 0.0
        self._due = False
        """Whether another round begins after this one."""

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[T]:
        """All workloads in line."""
        groups = self._groups
        merged = heapq.merge(*([(place, name) for place in group.places] for name, group in groups.items()))
        return (groups[name].workloads[place] for place, name in merged)

    def add(self, workload: T, group: str, rank: LineRank, *, asking: bool = False, stuck: bool | None = None) -> None:
        """A workload was not placed; it keeps its place in line if it has one.

        With `asking` a worker is asked about it at present, and the others wait for the answer, though not for long.
        `stuck` says whether it needs something else than room; None if it was not tried.
        """
        known = self._found.get(workload)
        if known is None or known.group != group or known.place.rank != rank:
            self._remove(workload)
            self._insert(workload, group, rank, known.joined if known is not None else self._clock.monotonic())
        if stuck is not None:
            self._groups[group].stuck = stuck
        if asking and self._trying in (None, workload):
            self._try(workload)
            if self._timer is None:
                self._timer = self._clock.call_later(_PATIENCE, self._begin)
        elif workload == self._trying:
            self._next()

    def is_stuck(self, workload: T) -> bool:
        """Whether a workload in line needs something else than room."""
        return self._groups[self._found[workload].group].stuck

    def discard(self, workload: T) -> bool:
        """Remove a workload; returns whether it was in line."""
        found = self._remove(workload)
        self._end_claim(workload)
        if workload == self._trying:
            self._next()
        return found

    def placed(self, workload: T) -> None:
        """Remove a workload that was placed, and have the next one tried."""
        known = self._found.get(workload)
        self.claims.placed(self._clock.monotonic() - known.joined if known is not None else 0.0)
        if known is None:
            return
        self._remove(workload)
        self._end_claim(workload)
        group = self._groups.get(known.group)
        if workload == self._trying:
            if group is not None:
                heapq.heappush(self._round, (group.places[0], known.group))
            self._next()
        elif group is not None:
            self._begin()

    def passed_on(self, workload: T) -> None:
        """Remove a workload that a worker's own queue decides about, and have the next one tried."""
        if workload in self._found:
            self.placed(workload)

    def turn(self, workload: T, group: str, rank: LineRank) -> Turn:
        """Whether a workload may be placed now, whether or not it is in line yet."""
        if not self._found:
            return FIRST
        known, now = self._found.get(workload), self._clock.monotonic()
        place = known.place if known is not None and known.place.rank == rank else _Place(rank, self._arrivals)
        ahead = sum(bisect_left(each.places, place) for each in self._groups.values())
        own = self._groups.get(group)
        alike = bisect_left(own.places, place) if own is not None else 0
        unsettled = self._timer is not None or self._trying is not None
        its = workload == self._trying or not (alike or (unsettled and ahead))
        waited = now - known.joined if known is not None else 0.0
        may_claim = its and self.claims.may_claim(workload, rank, waited, now)
        return Turn(its, ahead, alike, may_claim, self.claims.of(workload))

    def claim(self, workload: T, claimant: Claimant, worker: str) -> None:
        """Keep a worker free for a workload in line, or none any more if the name is empty."""
        known = self._found.get(workload)
        if not worker or known is None:
            self._end_claim(workload)
        elif worker != self.claims.of(workload):
            self.claims.grant(Claim(workload, claimant, known.place.rank, worker, self._clock.monotonic()))

    def _end_claim(self, workload: T) -> None:
        if self.claims.release(workload, self._clock.monotonic()):
            self.retry_soon()  # the worker is open to all again

    def retry_soon(self) -> None:
        """Something about the workers changed: have the line tried after a short pause."""
        if self._timer is None and self._found:
            self._timer = self._clock.call_later(self._pause, self._begin)

    def close(self) -> None:
        """Cancel the timer of `retry_soon`."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _begin(self) -> None:
        """Begin a round, or have one begin after the one under way."""
        self.close()
        left = self._tried_at + _PATIENCE - self._clock.monotonic()
        if self._trying is not None and left > 0:
            self._due, self._timer = True, self._clock.call_later(left, self._begin)
            return
        self._round = [(group.places[0], name) for name, group in self._groups.items()]
        heapq.heapify(self._round)
        self._next()

    def _next(self) -> None:
        """Have the next workload of the round tried."""
        self._trying = None
        while self._round:
            place, name = heapq.heappop(self._round)
            group = self._groups.get(name)
            if group is None:
                continue
            if place not in group.workloads:
                heapq.heappush(self._round, (group.places[0], name))
                continue
            self._try(group.workloads[place])
            self._enqueue(group.workloads[place])
            return
        if self._due:
            self._due = False
            self.close()
            self.retry_soon()

    def _try(self, workload: T) -> None:
        if workload != self._trying:
            self._trying, self._tried_at = workload, self._clock.monotonic()

    def _insert(self, workload: T, group: str, rank: LineRank, joined: float) -> None:
        place = _Place(rank, self._arrivals)
        self._arrivals += 1
        found = self._groups.get(group)
        if found is None:
            found = self._groups[group] = _Group()
            if self._trying is not None:
                heapq.heappush(self._round, (place, group))
        insort(found.places, place)
        found.workloads[place] = workload
        self._found[workload] = _Entry(group, place, joined)

    def _remove(self, workload: T) -> bool:
        known = self._found.pop(workload, None)
        if known is None:
            return False
        name, place = known.group, known.place
        group = self._groups[name]
        del group.places[bisect_left(group.places, place)], group.workloads[place]
        if not group.places:
            del self._groups[name]
        return True


FIRST: Final = Turn(True, 0, 0)
