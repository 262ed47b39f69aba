"""Times and durations: Go's values and Go's error texts, also for texts that only a fuzzer writes."""

from __future__ import annotations

import datetime as dt

import pytest

from jobrelay.apimachinery.times import TimeError, canonical_time, format_duration, parse_duration, shifted

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0), ("1h30m", 5_400_000_000_000), ("-1.5us", -1500), (".5h", 1_800_000_000_000), ("1.s", 10**9),
        ("+12ns", 12), ("9223372036854775807ns", 2**63 - 1), ("-9223372036854775808ns", -(2**63)),
        ("1.99999999999999999999999us", 2000),
    ],
)  # fmt: skip
def test_durations(text: str, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        ("1", 'time: missing unit in duration "1"'),
        ("1x", 'time: unknown unit "x" in duration "1x"'),
        ("1s-", 'time: unknown unit "s-" in duration "1s-"'),
        ('1é\\"', 'time: unknown unit "\\xc3\\xa9\\\\\\"" in duration "1\\xc3\\xa9\\\\\\""'),
        ("1\u0661s", 'time: unknown unit "\\xd9\\xa1s" in duration "1\\xd9\\xa1s"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
        ("3000000h", 'time: invalid duration "3000000h"'),
        ("9" * 400, f'time: invalid duration "{"9" * 400}"'),
    ],
)
def test_texts_that_are_no_durations(text: str, message: str) -> None:
    with pytest.raises(TimeError) as error:
        parse_duration(text)
    assert str(error.value) == message


def test_the_shortest_duration_is_written_as_it_is_read() -> None:
    assert parse_duration(format_duration(-(2**63))) == -(2**63)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2024-01-01T33:00:00x", "hour out of range"),
        ("2024-00-01T00:00:00Z", "month out of range"),
        ("2024-02-30T00:00:00Z", "day out of range"),
        ("2024-01-01T00:00:00+25:00", "time zone offset hour out of range"),
        ("2024-01-01T00:00:00-00:61", "time zone offset minute out of range"),
        ("2024-01-01T00:00:00Zx", 'extra text: "x"'),
    ],
)
def test_times_out_of_range(text: str, message: str) -> None:
    with pytest.raises(TimeError) as error:
        canonical_time(text)
    assert str(error.value) == f'parsing time "{text}": {message}'


def test_only_ascii_digits_are_digits() -> None:
    with pytest.raises(TimeError, match="cannot parse"):
        canonical_time("\u0662\u0660\u0662\u0664-01-01T00:00:00Z")


def test_offsets_of_a_day_are_read() -> None:
    assert canonical_time("2024-01-03T01:00:00+24:60") == "2024-01-02T00:00:00Z"


def test_a_time_is_shifted_as_far_as_there_are_times() -> None:
    assert shifted(NOW, 90) == dt.datetime(2026, 1, 1, 0, 1, 30, tzinfo=dt.UTC)
    assert shifted(NOW, 2**63 - 1) == dt.datetime(9999, 12, 31, 23, 59, 59, tzinfo=dt.UTC)
    assert shifted(NOW, -(2**63)) == dt.datetime(1, 1, 1, tzinfo=dt.UTC)
