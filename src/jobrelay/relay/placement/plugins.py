"""Placement policies from other packages, and how one that misbehaves is disabled.

A plugin is a function `(demand, request, worker) -> float | Rejection`, found by the entry point group
`jobrelay.placement`. It runs inside the relay, so it must neither fail nor be slow: one that raises, returns
something else, or takes longer than 50 ms for all workers of one placement is disabled until the relay restarts, and
every placement whose policy names it reports that.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Final, TypeAlias

from jobrelay.extensions import installed
from jobrelay.logs import get_logger
from jobrelay.relay.model import WorkerFacts
from jobrelay.workloads import WorkloadDemand

from .request import PlacementRequest

log = get_logger(__name__)

GROUP: Final = "jobrelay.placement"
_TIME_BUDGET: Final = 0.050
"""Seconds that a plugin may take for one placement."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a worker must not take a workload, and what would change that."""

    sentence: str
    would_change: str = ""


PluginResult: TypeAlias = float | Rejection
PluginFunction: TypeAlias = Callable[[WorkloadDemand, PlacementRequest, WorkerFacts], PluginResult]


class PolicyPlugin:
    """One policy from another package."""

    def __init__(self, name: str, function: PluginFunction, clock: Callable[[], float]) -> None:
        self.name = name
        self.problem = ""
        """Why it is disabled; empty while it is not."""
        self._function = function
        self._clock = clock

    def evaluate(
        self, demand: WorkloadDemand, request: PlacementRequest, workers: Sequence[WorkerFacts]
    ) -> list[PluginResult] | None:
        """Its result for each worker; None if it is disabled."""
        if self.problem:
            return None
        results: list[PluginResult] = []
        began = self._clock()
        for worker in workers:
            result = self._call(demand, request, worker)
            took = self._clock() - began
            if took > _TIME_BUDGET and not self.problem:
                self.disable(f"it took {took * 1000:.0f} ms, more than {_TIME_BUDGET * 1000:.0f} ms")
            if result is None or self.problem:
                return None
            results.append(result)
        return results

    def _call(self, demand: WorkloadDemand, request: PlacementRequest, worker: WorkerFacts) -> PluginResult | None:
        try:
            result = self._function(demand, request, worker)
        except Exception as error:  # foreign code: whatever it raises, the relay continues without it
            self.disable(f"it raised {type(error).__name__}: {error}", error)
            return None
        if isinstance(result, Rejection) or (isinstance(result, int | float) and math.isfinite(result)):
            return result
        self.disable(f"it returned {result!r}, which is neither a number nor a Rejection")
        return None

    def disable(self, cause: str, error: Exception | None = None) -> None:
        """Never call it again; the log has the traceback, placements report the cause."""
        self.problem = f"placement policy {self.name} is disabled: {cause}"
        log.warning(self.problem, exc_info=error)


class PolicyPlugins:
    """The plugins of the installed packages, each loaded once, when a policy first names it."""

    def __init__(self, points: Iterable[EntryPoint] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        found = installed(GROUP) if points is None else points
        self._points = {point.name: point for point in found}
        self._clock = clock
        self._loaded: dict[str, PolicyPlugin] = {}

    @property
    def names(self) -> list[str]:
        return sorted(self._points)

    def load(self, name: str) -> PolicyPlugin:
        """The plugin of this name. One that cannot be loaded is disabled from the start."""
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def _load(self, name: str) -> PolicyPlugin:
        try:
            return PolicyPlugin(name, self._points[name].load(), self._clock)
        except Exception as error:  # importing runs foreign code
            plugin = PolicyPlugin(name, lambda demand, request, worker: 0.0, self._clock)
            plugin.disable(f"it cannot be loaded: {error}", error)
            return plugin
