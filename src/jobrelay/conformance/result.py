"""What a run has found: the results of its scenarios, and the level that follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jobrelay.conformance.rules import Level, Violation
from jobrelay.conformance.scenario import Scenario

__all__ = ["ConformanceReport", "ScenarioResult"]


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """What became of one scenario.

    - `skipped` says why it could not judge the controller, `error` why it could not be played.
    - `steps` are the statuses of its Job, in order, with the seconds since it was created.
    """

    scenario: Scenario
    violations: tuple[Violation, ...] = ()
    skipped: str = ""
    error: str = ""
    seconds: float = 0.0
    steps: tuple[str, ...] = ()

    def broken_at(self, level: Level) -> tuple[Violation, ...]:
        """The violations that count at a level: of rules that it asks for."""
        return tuple(each for each in self.violations if self._asked(each) <= level)

    def passes(self, level: Level) -> bool:
        """Whether nothing of this result is against a level."""
        if self.scenario.level > level:
            return True
        return not (self.skipped or self.error or self.broken_at(level))

    def _asked(self, violation: Violation) -> Level:
        return max(self.scenario.level, violation.rule.level)

    def as_json(self, level: Level) -> dict[str, Any]:
        """The result as JSON values; `outcome` is for the level that was asked for."""
        return {
            "scenario": self.scenario.name,
            "feature": self.scenario.feature,
            "level": str(self.scenario.level),
            "outcome": self.outcome(level),
            "seconds": round(self.seconds, 1),
            "violations": [
                {
                    "rule": each.rule.name, "meaning": each.rule.meaning, "story": each.story,
                    "level": str(self._asked(each)),
                }
                for each in self.violations
            ],
            "skipped": self.skipped,
            "error": self.error,
            "steps": list(self.steps),
        }  # fmt: skip

    def outcome(self, level: Level) -> str:
        """One word: passed, failed, skipped or error."""
        if self.error:
            return "error"
        if self.broken_at(level):
            return "failed"
        return "skipped" if self.skipped else "passed"


@dataclass(frozen=True, slots=True)
class ConformanceReport:
    """The results of a run; `wanted` is the level that was asked for, `whole` whether all its scenarios were played."""

    managed_by: str
    wanted: Level
    results: tuple[ScenarioResult, ...]
    seconds: float
    whole: bool = True
    server: str = ""

    @property
    def level(self) -> Level:
        """The highest level at which nothing is wrong, up to the one that was asked for."""
        passed = Level.NONE
        for level in (Level.OBSERVES, Level.RUNS, Level.COMPLETE):
            if level > self.wanted or not all(each.passes(level) for each in self.results):
                break
            passed = level
        return passed

    @property
    def passed(self) -> bool:
        """Whether the level that was asked for is reached, as far as it was tried."""
        return self.level == self.wanted

    def as_json(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {
            "managedBy": self.managed_by,
            "server": self.server,
            "wanted": str(self.wanted),
            "level": str(self.level) if self.whole else None,
            "passed": self.passed,
            "seconds": round(self.seconds, 1),
            "results": [each.as_json(self.wanted) for each in self.results],
        }
