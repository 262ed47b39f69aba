"""Placement policies from other packages, and what happens when one of them misbehaves.

A guest is a plain function `(demand, wish, worker) -> float | Refuse`, found by the entry point group `jobrelay.placement`.
It runs inside the relay, so it may neither fail nor dawdle: one that raises, answers nonsense, or takes longer than 50 ms for
all the workers of one placement is set aside for the life of the process, and every placement that asked for it says so.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Final, TypeAlias

import structlog

from jobrelay.relay.model import WorkerFacts
from jobrelay.workloads import Demand

from .wish import Wish

__all__ = ["GROUP", "LIMIT", "Guest", "Guests", "Opinion", "Refuse"]

log = structlog.get_logger(__name__)

GROUP: Final = "jobrelay.placement"
LIMIT: Final = 0.050
"""Seconds that a guest may take for one placement."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """A worker that must not take the workload: why, and what would change that."""

    sentence: str
    would_change: str = ""


Opinion: TypeAlias = float | Refuse
Function: TypeAlias = Callable[[Demand, Wish, WorkerFacts], Opinion]


class Guest:
    """One policy from elsewhere."""

    def __init__(self, name: str, function: Function, clock: Callable[[], float] = time.monotonic) -> None:
        self.name = name
        self.problem = ""
        """Why it is set aside; empty while it is not."""
        self._function = function
        self._clock = clock

    def ask(self, demand: Demand, wish: Wish, workers: Sequence[WorkerFacts]) -> list[Opinion] | None:
        """Its opinion of each worker; None if it is set aside."""
        if self.problem:
            return None
        opinions: list[Opinion] = []
        began = self._clock()
        for worker in workers:
            opinion = self._opinion(demand, wish, worker)
            took = self._clock() - began
            if took > LIMIT and not self.problem:
                self.set_aside(f"it took {took * 1000:.0f} ms, more than {LIMIT * 1000:.0f} ms")
            if opinion is None or self.problem:
                return None
            opinions.append(opinion)
        return opinions

    def _opinion(self, demand: Demand, wish: Wish, worker: WorkerFacts) -> Opinion | None:
        try:
            opinion = self._function(demand, wish, worker)
        except Exception as error:  # the code of others: whatever it raises, the relay goes on without it
            self.set_aside(f"it raised {type(error).__name__}: {error}", error)
            return None
        if isinstance(opinion, Refuse) or (isinstance(opinion, int | float) and math.isfinite(opinion)):
            return opinion
        self.set_aside(f"it answered {opinion!r}, which is neither a number nor Refuse")
        return None

    def set_aside(self, cause: str, error: Exception | None = None) -> None:
        """It is not asked again; the log has the whole trace, placements say the cause."""
        self.problem = f"placement policy {self.name} is set aside: {cause}"
        log.warning(self.problem, exc_info=error)


class Guests:
    """The policies that are installed, each loaded once, when it is first asked for."""

    def __init__(
        self,
        found: Callable[[], Iterable[EntryPoint]] = lambda: entry_points(group=GROUP),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._found = found
        self._clock = clock
        self._loaded: dict[str, Guest] = {}

    def names(self) -> list[str]:
        return sorted({point.name for point in self._found()})

    def get(self, name: str) -> Guest | None:
        """The policy of this name, None if no package has one. One that cannot be imported is set aside at once."""
        if name not in self._loaded:
            point = next((point for point in self._found() if point.name == name), None)
            if point is None:
                return None
            self._loaded[name] = self._load(point)
        return self._loaded[name]

    def _load(self, point: EntryPoint) -> Guest:
        try:
            return Guest(point.name, point.load(), self._clock)
        except Exception as error:  # importing runs the code of others
            guest = Guest(point.name, lambda demand, wish, worker: 0.0, self._clock)
            guest.set_aside(f"it cannot be loaded: {error}", error)
            return guest
