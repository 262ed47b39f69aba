"""Charts as plain values: the points of lines in an SVG, and the words beside them. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from jobrelay.apimachinery.times import parse_time
from jobrelay.kinds.tables.ages import human_duration

WIDTH: Final = 600
HEIGHT: Final = 120
_SHORTEST: Final = 300.0
"""The least time that a chart shows, in seconds."""
_STEPS: Final = (1, 2, 3, 4, 5, 6, 8)


class Chart(msgspec.Struct, frozen=True):
    """One line over time: its points, the area below it, its scale, and what it shows in a sentence."""

    title: str
    line: str
    area: str
    top: int
    span: str
    now: int
    sentence: str


def line_chart(title: str, samples: Sequence[tuple[datetime, int]], now: datetime) -> Chart:
    """A chart of the time up to now; of no samples, an empty one."""
    seconds = max([_SHORTEST, *((now - time).total_seconds() for time, _ in samples)])
    most = max([0, *(value for _, value in samples)])
    top = scale_top(most)
    points = [
        (WIDTH * (1 - (now - time).total_seconds() / seconds), HEIGHT * (1 - value / top)) for time, value in samples
    ]
    if points:
        points.append((WIDTH, points[-1][1]))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    area = f"{points[0][0]:.1f},{HEIGHT} {line} {WIDTH},{HEIGHT}" if points else ""
    current, span = samples[-1][1] if samples else 0, human_duration(seconds)
    return Chart(title, line, area, top, span, current, f"{title}: {current} now, at most {most} in the last {span}")


def scale_top(most: int) -> int:
    """The end of a scale: a round number that is no less."""
    power = 1
    while True:
        for step in _STEPS:
            if step * power >= most:
                return step * power
        power *= 10


def samples_of(history: Sequence[Mapping[str, Any]], name: str) -> list[tuple[datetime, int]]:
    """One line of a history, as `line_chart` takes it."""
    return [(parse_time(each["time"]), int(each[name])) for each in history]


class Rates(msgspec.Struct, frozen=True):
    """How many workloads have ended within some minutes."""

    minutes: int
    complete: int
    failed: int
    per_minute: float


def rates_of(history: Sequence[Mapping[str, Any]], now: datetime, minutes: int = 15) -> Rates:
    """By the samples of the last minutes."""
    since = now - timedelta(minutes=minutes)
    recent = [each for each in history if parse_time(each["time"]) > since]
    complete, failed = (sum(int(each[name]) for each in recent) for name in ("complete", "failed"))
    return Rates(minutes, complete, failed, (complete + failed) / minutes)
