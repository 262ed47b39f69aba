"""How long ago, in two or three figures: `45s`, `3m20s`, `5h12m`, `2d4h`, `97d`."""

from __future__ import annotations

import datetime as dt
from typing import Final

from jobrelay.apimachinery.times import TimeError, parse_time

UNKNOWN: Final = "<unknown>"
INVALID: Final = "<invalid>"
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


def human_duration(seconds: float) -> str:
    """A duration as kubectl shows it; clocks may differ by a second before it counts as invalid."""
    whole = int(seconds)
    if whole < -1:
        return INVALID
    if whole < 2 * _MINUTE:
        return f"{max(whole, 0)}s"
    if whole < 10 * _MINUTE:
        return _pair(whole, _MINUTE, "m", 1, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _pair(whole, _HOUR, "h", _MINUTE, "m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _pair(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _pair(whole, _YEAR, "y", _DAY, "d")
    return f"{whole // _YEAR}y"


def _pair(seconds: int, big: int, big_name: str, small: int, small_name: str) -> str:
    rest = seconds % big // small
    return f"{seconds // big}{big_name}" + (f"{rest}{small_name}" if rest else "")


def since(time: str | None, now: dt.datetime) -> str:
    """The age of a Time or MicroTime of an object."""
    if not time:
        return UNKNOWN
    try:
        return human_duration((now - parse_time(time)).total_seconds())
    except TimeError:
        return INVALID


def between(start: str, end: str) -> str:
    return human_duration((parse_time(end) - parse_time(start)).total_seconds())
