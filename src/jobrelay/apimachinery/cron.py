"""Cron schedules and time zones: parsing, the errors of the parser, and the next time a schedule is due.

The grammar is that of the cron library that Kubernetes uses: five fields of numbers, names, ranges and steps, `?` for
`*`, or a descriptor such as `@daily` or `@every 1h30m`. Sunday is 0 only. Hand-written, because the refusals are on the
wire and because hours that a clock change repeats are due twice there, which other cron libraries see differently.
"""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from collections.abc import Iterator
from typing import Final, Protocol

from jobrelay.apimachinery.field import go_quote
from jobrelay.apimachinery.goint import read_int
from jobrelay.apimachinery.times import TimeError, parse_duration

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_BOUNDS: Final[tuple[tuple[int, int, dict[str, int]], ...]] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_DESCRIPTORS: Final = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_EVERY: Final = "@every "
_SPACE: Final = re.compile("[\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_ZONE_PART = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")


class ScheduleError(ValueError):
    """A text that is not a schedule; the message is that of the cron library."""


class CronSchedule(Protocol):
    """When things are due."""

    def next(self, after: dt.datetime) -> dt.datetime | None:
        """The first time after the one given, in UTC; None when there is none within five years."""


class _Fields:
    """A schedule of five fields in a time zone."""

    def __init__(self, fields: list[str], zone: dt.tzinfo) -> None:
        self._minutes, self._hours, self._days, self._months, self._weekdays = (
            _values(field, *bounds) for field, bounds in zip(fields, _BOUNDS, strict=True)
        )
        self._any_day = fields[2][:1] in ("*", "?") or fields[4][:1] in ("*", "?")
        self._zone = zone

    def next(self, after: dt.datetime) -> dt.datetime | None:
        local = after.astimezone(self._zone)
        day = local.date()
        for _ in range(5 * 366):
            if self._matches(day):
                due = [moment for moment in self._moments(day) if moment > after]
                if due:
                    return min(due)
            day += dt.timedelta(days=1)
        return None

    def _matches(self, day: dt.date) -> bool:
        if day.month not in self._months:
            return False
        by_date, by_weekday = day.day in self._days, day.isoweekday() % 7 in self._weekdays
        return (by_date and by_weekday) if self._any_day else (by_date or by_weekday)

    def _moments(self, day: dt.date) -> Iterator[dt.datetime]:
        """The moments of a day: an hour that a clock change skips has none, one that it repeats has two."""
        for hour in self._hours:
            for minute in self._minutes:
                for fold in (0, 1):
                    local = dt.datetime(day.year, day.month, day.day, hour, minute, tzinfo=self._zone, fold=fold)
                    moment = local.astimezone(dt.UTC)
                    back = moment.astimezone(self._zone)
                    if (back.hour, back.minute, back.fold) == (hour, minute, fold):
                        yield moment


class _Every:
    """`@every 90s`: a fixed distance from the last time."""

    def __init__(self, seconds: int) -> None:
        self._distance = dt.timedelta(seconds=max(seconds, 1))

    def next(self, after: dt.datetime) -> dt.datetime | None:
        return (after + self._distance).replace(microsecond=0).astimezone(dt.UTC)


_MEANINGS: Final = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}  # fmt: skip


def parse_schedule(text: str, zone: str = "") -> CronSchedule:
    """The schedule that a text means in a time zone ("" is UTC); raises ScheduleError."""
    check_schedule(text)
    if text.startswith(("TZ=", "CRON_TZ=")):
        zone, text = text[text.index("=") + 1 : text.find(" ")], _without_zone(text)
    if text.startswith(_EVERY):
        return _Every(parse_duration(text.removeprefix(_EVERY)) // 10**9)
    fields = [part for part in _SPACE.split(_MEANINGS.get(text, text)) if part]
    return _Fields(fields, zoneinfo.ZoneInfo(zone) if zone not in ("", "UTC", "Local") else dt.UTC)


def _values(field: str, low: int, high: int, names: dict[str, int]) -> list[int]:
    found: set[int] = set()
    for part in filter(None, field.split(",")):
        first, last, step = _check_range(part, low, high, names)
        found.update(range(first, last + 1, step))
    return sorted(found)


def check_schedule(text: str) -> None:
    """Raises ScheduleError unless the text is a schedule."""
    if text.startswith(("TZ=", "CRON_TZ=")):
        text = _without_zone(text)
    if text.startswith("@"):
        _check_descriptor(text)
        return
    fields = [part for part in _SPACE.split(text) if part]
    if len(fields) != len(_BOUNDS):
        raise ScheduleError(f"expected exactly {len(_BOUNDS)} fields, found {len(fields)}: [{' '.join(fields)}]")
    for field, (low, high, names) in zip(fields, _BOUNDS, strict=True):
        for part in filter(None, field.split(",")):
            _check_range(part, low, high, names)


def _without_zone(text: str) -> str:
    start, end = text.index("=") + 1, text.find(" ")
    if end < 0:
        raise ScheduleError("invalid schedule format: runtime error: slice bounds out of range [:-1]")
    zone = text[start:end]
    if problem := zone_problem(zone):
        raise ScheduleError(f"provided bad location {zone}: {problem}")
    return text[end:].strip()


def _check_descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith(_EVERY):
        raise ScheduleError(f"unrecognized descriptor: {text}")
    try:
        parse_duration(text.removeprefix(_EVERY))
    except TimeError as error:
        raise ScheduleError(f"failed to parse duration {text}: {error}") from None


def _check_range(part: str, low: int, high: int, names: dict[str, int]) -> tuple[int, int, int]:
    """The first, the last and the step of one part of a field."""
    span, *steps = part.split("/")
    limits = span.split("-")
    if limits[0] in ("*", "?"):
        first, last = low, high
    else:
        first = last = _number(limits[0], names)
        if len(limits) > 2:
            raise ScheduleError(f"too many hyphens: {part}")
        if len(limits) == 2:
            last = _number(limits[1], names)
    step = 1
    if len(steps) > 1:
        raise ScheduleError(f"too many slashes: {part}")
    if steps:
        step = _number(steps[0], {})
        last = high if len(limits) == 1 else last
    if first < low:
        raise ScheduleError(f"beginning of range ({first}) below minimum ({low}): {part}")
    if last > high:
        raise ScheduleError(f"end of range ({last}) above maximum ({high}): {part}")
    if first > last:
        raise ScheduleError(f"beginning of range ({first}) beyond end of range ({last}): {part}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {part}")
    return first, last, step


def _number(text: str, names: dict[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    problem = ""
    if not _INTEGER.fullmatch(text):
        problem = "invalid syntax"
    elif not -(2**63) <= read_int(text) < 2**63:
        problem = "value out of range"
    if problem:
        raise ScheduleError(f"failed to parse int from {text}: strconv.Atoi: parsing {go_quote(text)}: {problem}")
    if (value := read_int(text)) < 0:
        raise ScheduleError(f"negative number ({value}) not allowed: {text}")
    return value


LONGEST_ZONE: Final = 255
"""No file has a longer name, and looking for one of very many parts takes too many steps."""


def zone_problem(name: str) -> str:
    """Why a name is not a time zone; empty when it is one."""
    if name in ("", "UTC", "Local"):
        return ""
    if ".." in name or name[0] in "/\\" or "\\" in name:
        return "time: invalid location name"
    if len(name) > LONGEST_ZONE:
        return f"unknown time zone {name}"
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        is_region = any(zone.startswith(f"{name}/") for zone in zoneinfo.available_timezones())
        return "is a directory" if is_region else f"unknown time zone {name}"
    return ""


def is_zone_name(name: str) -> bool:
    """Whether every part of a name is made as the time zone database makes them."""
    parts = name.split("/")
    return all(p not in (".", "..") and not p.startswith("-") and _ZONE_PART.fullmatch(p) for p in parts)
