"""Finds the shortest part of a schedule that still breaks a promise.

A part is named by the numbers of the Jobs and incidents that are left of the schedule of a seed, `1,3/2` for the first
and third Job and the second incident, so that a command can replay it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from jobrelay.simulation.playing import Outcome, play
from jobrelay.simulation.schedules import Schedule

_T = TypeVar("_T")


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


def name_part(whole: Schedule, part: Schedule) -> str:
    """The name of a part of a schedule."""
    kept = ((whole.jobs, part.jobs), (whole.incidents, part.incidents))
    return "/".join(
        ",".join(str(number) for number, each in enumerate(every, 1) if each in left) for every, left in kept
    )


def take_part(whole: Schedule, name: str) -> Schedule:
    """The part of a schedule that has this name; raises ValueError if there is none."""
    jobs, _, incidents = name.partition("/")
    return replace(whole, jobs=_chosen(whole.jobs, jobs), incidents=_chosen(whole.incidents, incidents))


def _chosen(every: tuple[_T, ...], numbers: str) -> tuple[_T, ...]:
    wanted = [int(number) for number in numbers.split(",") if number]
    if any(not 1 <= number <= len(every) for number in wanted):
        raise ValueError(f"{numbers!r} is not among the numbers 1 to {len(every)}")
    return tuple(every[number - 1] for number in wanted)
