"""Times as Kubernetes writes them: `Time` to the second, `MicroTime` to six digits, both in UTC.

Go's own parser is reproduced as far as its error texts are on the wire: they name the first part of the layout that the
text does not match.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
from typing import Final

from jobrelay.apimachinery.field import go_quote

RFC3339: Final = "2006-01-02T15:04:05Z07:00"
MICRO: Final = "2006-01-02T15:04:05.000000Z07:00"
UTC: Final = dt.UTC
_WRITTEN: Final = "%04d-%02d-%02dT%02d:%02d:%02dZ"

_PARTS: Final = (
    ("2006", re.compile(r"\d{4}")), ("-", re.compile(r"-")), ("01", re.compile(r"\d{2}")), ("-", re.compile(r"-")),
    ("02", re.compile(r"\d{2}")), ("T", re.compile(r"T")), ("15", re.compile(r"\d{1,2}")), (":", re.compile(r":")),
    ("04", re.compile(r"\d{2}")), (":", re.compile(r":")), ("05", re.compile(r"\d{2}")),
)  # fmt: skip
_ZONE = re.compile(r"Z|[+-]\d{2}:\d{2}")
_SECOND_FRACTION = re.compile(r"[.,]\d+")
_MICRO_FRACTION = re.compile(r"\.\d{6}")


class TimeError(ValueError):
    """A text that is not a time; its message is Go's."""


def _scan(text: str, layout: str, *, micro: bool) -> tuple[list[str], int, dt.tzinfo]:
    def fail(rest: str, wanted: str) -> TimeError:
        return TimeError(
            f"parsing time {go_quote(text)} as {go_quote(layout)}: cannot parse {go_quote(rest)} as {go_quote(wanted)}"
        )

    position, numbers = 0, []
    for wanted, pattern in _PARTS:
        match = pattern.match(text, position)
        if match is None:
            raise fail(text[position:], wanted)
        if wanted.isdigit():
            numbers.append(match.group())
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
    if match is None:
        raise fail(text[position:], "Z07:00")
    if match.end() != len(text):
        raise TimeError(f"parsing time {go_quote(text)}: extra text: {go_quote(text[match.end() :])}")
    return numbers, microseconds, _zone(match.group())


def _zone(text: str) -> dt.tzinfo:
    if text == "Z":
        return UTC
    offset = dt.timedelta(hours=int(text[1:3]), minutes=int(text[4:6]))
    return dt.timezone(offset if text[0] == "+" else -offset)


def _parse(text: str, layout: str, *, micro: bool) -> dt.datetime:
    numbers, microseconds, zone = _scan(text, layout, micro=micro)
    year, month, day, hour, minute, second = map(int, numbers)
    for name, value, limit in (
        ("month", month, 12),
        ("hour", hour, 23),
        ("minute", minute, 59),
        ("second", second, 59),
    ):
        if value > limit or (name == "month" and value < 1):
            raise TimeError(f"parsing time {go_quote(text)}: {name} out of range")
    try:
        return dt.datetime(year, month, day, hour, minute, second, microseconds, zone).astimezone(UTC)
    except (ValueError, OverflowError):
        raise TimeError(f"parsing time {go_quote(text)}: day out of range") from None


def parse_time(text: str) -> dt.datetime:
    return _parse(text, RFC3339, micro=False)


_CANONICAL = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ")


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


def format_micro_time(time: dt.datetime) -> str:
    """Exactly six digits: the API server refuses any other number of them."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")[:26] + "Z"


_UNITS: Final = {
    "ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9,
}  # fmt: skip
_DURATION_PART = re.compile(r"(\d++\.?\d*+|\.\d++)(ns|us|µs|μs|ms|s|m|h)")


def parse_duration(text: str) -> int:
    """A Go duration in nanoseconds."""
    body = text.lstrip("+-")
    if body == "0":
        return 0
    position, total = 0, 0.0
    while position < len(body) and (match := _DURATION_PART.match(body, position)):
        total += float(match.group(1)) * _UNITS[match.group(2)]
        position = match.end()
    if not body or position != len(body) or len(text) - len(body) > 1:
        raise TimeError(_duration_problem(text, body[position:]))
    return -round(total) if text[0] == "-" else round(total)


def _duration_problem(text: str, rest: str) -> str:
    """Go's error text for the invalid part of a duration: no number, no unit, or an unknown unit."""
    number = re.match(r"\d+\.?\d*|\.\d+", rest)
    if number is None:
        return f"time: invalid duration {go_quote(text)}"
    unit = re.match(r"[^\d.]*", rest[number.end() :])
    if unit is None or not unit.group():
        return f"time: missing unit in duration {go_quote(text)}"
    return f"time: unknown unit {go_quote(unit.group())} in duration {go_quote(text)}"


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
