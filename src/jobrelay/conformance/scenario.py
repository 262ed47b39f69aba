"""A scenario: one feature of the Job API, what is done to a Job, and what has to become of it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from jobrelay.conformance.job_under_test import JobUnderTest
from jobrelay.conformance.rules import Level

__all__ = ["Scenario", "scenario"]

Play = Callable[[JobUnderTest], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario; its name is also that of its Job.

    - `level` is the lowest one that asks for it.
    - `feature` is the part of the Job API that it is about.
    - `summary` says in a sentence what a controller has to do.
    """

    name: str
    level: Level
    feature: str
    summary: str
    play: Play


def scenario(into: list[Scenario], level: Level, feature: str) -> Callable[[Play], Play]:
    """Add a function as a scenario: its name is the scenario's, its docstring the summary."""

    def add(play: Play) -> Play:
        name = play.__name__.replace("_", "-")
        into.append(Scenario(name, level, feature, " ".join((play.__doc__ or "").split()), play))
        return play

    return add
