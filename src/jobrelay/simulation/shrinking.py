"""Finds the shortest part of a schedule that still breaks a promise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from jobrelay.simulation.playing import Outcome, play
from jobrelay.simulation.schedules import Schedule


def shrink(schedule: Schedule, outcome: Outcome) -> tuple[Schedule, Outcome]:
    """Leave out incidents and Jobs one by one, as long as the same promise is broken without them."""
    promises = outcome.promises
    while True:
        for shorter in _shorter(schedule):
            found = play(shorter)
            if found.promises & promises:
                schedule, outcome = shorter, found
                break
        else:
            return schedule, outcome


def _shorter(schedule: Schedule) -> Iterator[Schedule]:
    for index in range(len(schedule.incidents)):
        yield replace(schedule, incidents=schedule.incidents[:index] + schedule.incidents[index + 1 :])
    if len(schedule.jobs) > 1:
        for index in range(len(schedule.jobs)):
            yield replace(schedule, jobs=schedule.jobs[:index] + schedule.jobs[index + 1 :])
