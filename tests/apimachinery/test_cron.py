"""Which texts are cron schedules and time zones, and what is said about those that are not."""

from __future__ import annotations

import pytest

from jobrelay.apimachinery.cron import ScheduleError, check_schedule, is_zone_name, zone_problem


@pytest.mark.parametrize(
    "text",
    ["* * * * *", "*/5 0-6 1,15 * ?", "0 0 * JAN-mar Sun", "\t0 0 1 1 *", "@daily", "@every 1h30m", "@every -5m",
     "+5 * * * *", ", * * * *", "*-5 * * * *", "TZ=UTC 0 0 * * *", "CRON_TZ=Europe/Berlin @hourly"],
)  # fmt: skip
def test_schedules(text: str) -> None:
    check_schedule(text)
    with pytest.raises(ScheduleError):
        check_schedule(f"{text} x")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1--2 * * * *", "too many hyphens: 1--2"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("*/-1 * * * *", "negative number (-1) not allowed: -1"),
        ("a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'),
        ("@reboot", "unrecognized descriptor: @reboot"),
        ("@every 1", 'failed to parse duration @every 1: time: missing unit in duration "1"'),
        ("@every 1y", 'failed to parse duration @every 1y: time: unknown unit "y" in duration "1y"'),
        ("TZ=UTC", "invalid schedule format: runtime error: slice bounds out of range [:-1]"),
        ("TZ=No/Where * * * * *", "provided bad location No/Where: unknown time zone No/Where"),
    ],
)
def test_bad_schedules(text: str, problem: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        check_schedule(text)
    assert str(caught.value) == problem


def test_zones() -> None:
    assert zone_problem("Europe/Berlin") == ""
    assert zone_problem("europe/berlin") == "unknown time zone europe/berlin"
    assert zone_problem("../etc") == "time: invalid location name"
    assert is_zone_name("Etc/GMT+5")
    assert not is_zone_name("a//b")
    assert not is_zone_name("-x")
