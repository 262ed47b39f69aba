"""Times as Kubernetes writes them: `Time` to the second, `MicroTime` to six digits, both in UTC.

Go's own parser is reproduced as far as its error texts are on the wire: they name the first part of the layout that the
text does not match.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
from typing import Final

from jobrelay.apimachinery.goint import read_int

RFC3339: Final = "2006-01-02T15:04:05Z07:00"
MICRO: Final = "2006-01-02T15:04:05.000000Z07:00"
UTC: Final = dt.UTC
_WRITTEN: Final = "%04d-%02d-%02dT%02d:%02d:%02dZ"

_PARTS: Final[tuple[tuple[str, re.Pattern[str], str, int], ...]] = (  # of the layout: text, pattern, name, largest
    ("2006", re.compile(r"[0-9]{4}"), "year", 9999), ("-", re.compile(r"-"), "", 0),
    ("01", re.compile(r"[0-9]{2}"), "month", 12), ("-", re.compile(r"-"), "", 0),
    ("02", re.compile(r"[0-9]{2}"), "day", 99), ("T", re.compile(r"T"), "", 0),
    ("15", re.compile(r"[0-9]{1,2}"), "hour", 23), (":", re.compile(r":"), "", 0),
    ("04", re.compile(r"[0-9]{2}"), "minute", 59), (":", re.compile(r":"), "", 0),
    ("05", re.compile(r"[0-9]{2}"), "second", 59),
)  # fmt: skip
_ZONE = re.compile(r"Z|(.)([0-9]{2}):([0-9]{2})", re.DOTALL)
_ESCAPED = re.compile(r"[^ -\x7f]")
_SECOND_FRACTION = re.compile(r"[.,][0-9]+")
_MICRO_FRACTION = re.compile(r"\.[0-9]{6}")


class TimeError(ValueError):
    """A text that is not a time; its message is Go's."""


def _quoted(text: str) -> str:
    """A text as Go's package for times quotes it: by bytes."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    escaped = _ESCAPED.sub(lambda match: "".join(f"\\x{byte:02x}" for byte in match.group().encode()), plain)
    return f'"{escaped}"'


def _out_of_range(text: str, name: str) -> TimeError:
    return TimeError(f"parsing time {_quoted(text)}: {name} out of range")


def _scan(text: str, layout: str, *, micro: bool) -> tuple[list[int], int, dt.timedelta]:
    """The numbers of a time, its microseconds and its offset from UTC; what is wrong first is told."""

    def fail(rest: str, wanted: str) -> TimeError:
        return TimeError(
            f"parsing time {_quoted(text)} as {_quoted(layout)}: cannot parse {_quoted(rest)} as {_quoted(wanted)}"
        )

    position, numbers = 0, []
    for wanted, pattern, name, largest in _PARTS:
        match = pattern.match(text, position)
        if match is None:
            raise fail(text[position:], wanted)
        if name:
            numbers.append(int(match.group()))
            if numbers[-1] > largest or (name == "month" and not numbers[-1]):
                raise _out_of_range(text, name)
        position = match.end()
    microseconds = 0
    if micro:
        match = _MICRO_FRACTION.match(text, position)
        if match is None:
            raise fail(text[position:], ".000000")
    else:
        match = _SECOND_FRACTION.match(text, position)
    if match is not None:
        microseconds = int(match.group()[1:7].ljust(6, "0"))
        position = match.end()
    match = _ZONE.match(text, position)
    offset = _offset(text, match) if match is not None else None
    if match is None or offset is None:
        raise fail(text[position:], "Z07:00")
    if match.end() != len(text):
        raise TimeError(f"parsing time {_quoted(text)}: extra text: {_quoted(text[match.end() :])}")
    return numbers, microseconds, offset


def _offset(text: str, zone: re.Match[str]) -> dt.timedelta | None:
    """The offset of a zone; None for what has neither sign."""
    if zone.group() == "Z":
        return dt.timedelta()
    sign, hours, minutes = zone.group(1), int(zone.group(2)), int(zone.group(3))
    if hours > 24 or minutes > 60:
        raise _out_of_range(text, f"time zone offset {'minute' if minutes > 60 else 'hour'}")
    offset = dt.timedelta(hours=hours, minutes=minutes)
    return {"+": offset, "-": -offset}.get(sign)


def _parse(text: str, layout: str, *, micro: bool) -> dt.datetime:
    (year, month, day, hour, minute, second), microseconds, offset = _scan(text, layout, micro=micro)
    try:
        return dt.datetime(year, month, day, hour, minute, second, microseconds, UTC) - offset
    except (ValueError, OverflowError):
        raise _out_of_range(text, "day") from None


def parse_time(text: str) -> dt.datetime:
    return _parse(text, RFC3339, micro=False)


_CANONICAL = re.compile(r"(?!0000)\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", re.ASCII)


@functools.lru_cache(1024)
def canonical_time(text: str) -> str:
    """The text as the server writes it back: UTC, whole seconds."""
    return text if _CANONICAL.fullmatch(text) else format_time(parse_time(text))


def canonical_micro_time(text: str) -> str:
    return format_micro_time(_parse(text, MICRO, micro=True))


def format_time(time: dt.datetime) -> str:
    utc = time if time.tzinfo is UTC else time.astimezone(UTC)
    return _written(utc.year, utc.month, utc.day, utc.hour, utc.minute, utc.second)


@functools.lru_cache(maxsize=64)
def _written(*parts: int) -> str:
    """Most times that are written are of the present second."""
    return _WRITTEN % parts


def shifted(moment: dt.datetime, seconds: int) -> dt.datetime:
    """A time that many seconds later, or earlier; the first or last time that can be written, if that is beyond it."""
    try:
        return moment + dt.timedelta(seconds=seconds)
    except OverflowError:
        return (dt.datetime.min if seconds < 0 else dt.datetime.max).replace(microsecond=0, tzinfo=UTC)


def format_micro_time(time: dt.datetime) -> str:
    """Exactly six digits: the API server refuses any other number of them."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")[:26] + "Z"


_UNITS: Final = {
    "ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9,
}  # fmt: skip
_LONGEST: Final = 2**63  # nanoseconds; of positive durations one less
_NUMBER = re.compile(r"([0-9]*+)(?:(\.)([0-9]*+))?")
_UNIT = re.compile(r"[^0-9.]*")


def parse_duration(text: str) -> int:
    """A Go duration in nanoseconds."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    position, total = 0, 0
    while position < len(rest) or not rest:
        value, position = _duration_part(text, rest, position)
        total += value
        if total > _LONGEST:
            raise _invalid_duration(text)
    if total == _LONGEST and text[0] != "-":
        raise _invalid_duration(text)
    return -total if text[0] == "-" else total


def _duration_part(text: str, rest: str, position: int) -> tuple[int, int]:
    """The nanoseconds of one number with its unit, and where it ends."""
    number, unit = _NUMBER.match(rest, position), None
    if number is not None:
        unit = _UNIT.match(rest, number.end())
    if number is None or unit is None or not (number.group(1) or number.group(3)):
        raise _invalid_duration(text)
    whole = read_int(number.group(1) or "0")
    if whole > _LONGEST:
        raise _invalid_duration(text)
    if not unit.group():
        raise TimeError(f"time: missing unit in duration {_quoted(text)}")
    if unit.group() not in _UNITS:
        raise TimeError(f"time: unknown unit {_quoted(unit.group())} in duration {_quoted(text)}")
    size = _UNITS[unit.group()]
    return whole * size + _fraction(number.group(3) or "", size), unit.end()


def _fraction(digits: str, unit: int) -> int:
    """The part of a unit that digits after the point mean; in Go it is computed as a float."""
    found, scale = 0, 1.0
    for digit in digits:
        if found > (_LONGEST - 1) // 10 or found * 10 + int(digit) > _LONGEST:
            break
        found, scale = found * 10 + int(digit), scale * 10
    return int(float(found) * (unit / scale))


def _invalid_duration(text: str) -> TimeError:
    return TimeError(f"time: invalid duration {_quoted(text)}")


def format_duration(nanoseconds: int) -> str:
    """Nanoseconds as Go's Duration.String writes them."""
    sign, value = ("-" if nanoseconds < 0 else ""), abs(nanoseconds)
    if value == 0:
        return "0s"
    for limit, unit, name in ((10**3, 1, "ns"), (10**6, 10**3, "µs"), (10**9, 10**6, "ms")):
        if value < limit:
            return f"{sign}{_decimal(value, unit)}{name}"
    minutes, rest = divmod(value, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, 10**9)}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return sign + (f"{hours}h{text}" if hours else text)


def _decimal(value: int, unit: int) -> str:
    whole, fraction = divmod(value, unit)
    if not fraction:
        return str(whole)
    digits = len(str(unit)) - 1
    return f"{whole}.{fraction:0{digits}d}".rstrip("0")
