"""Finds a defect that was put back: plays one schedule after the other until a promise is broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from jobrelay.simulation import INCIDENTS, Outcome, draw, play

MOST = 1000
"""How many schedules a search may take."""


@dataclass(frozen=True, slots=True)
class Defect:
    """A defect as a patch of the production code, which only tests can apply."""

    name: str
    text: str
    put_back: Callable[[pytest.MonkeyPatch], None]
    incidents: tuple[str, ...] = tuple(INCIDENTS)
    """The kinds that are drawn to find it."""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Found:
    """The seed that finds a defect, how many schedules that took, and what came of it."""

    seed: int
    schedules: int
    outcome: Outcome


def find(defect: Defect, most: int) -> Found | None:
    """Play the schedules of the seeds from 0 on; one that also breaks a promise without the defect proves nothing."""
    for seed in range(most):
        schedule = draw(seed, defect.incidents)
        with pytest.MonkeyPatch.context() as patch:
            defect.put_back(patch)
            outcome = play(schedule)
        if outcome.broken and not play(schedule).broken:
            return Found(seed, seed + 1, outcome)
    return None
