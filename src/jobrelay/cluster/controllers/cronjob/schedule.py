"""Which time of a schedule a CronJob has to act on now, and when to look again."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final, NamedTuple

from jobrelay.kinds.cron import Schedule
from jobrelay.kinds.times import parse_time

SLACK: Final = dt.timedelta(milliseconds=100)
MANY: Final = 100
Obj = dict[str, Any]


class Missed(NamedTuple):
    """The latest time that is due (None: nothing is), counted from `since`, and whether very many were missed."""

    since: dt.datetime
    time: dt.datetime | None
    many: bool = False


def _since(cronjob: Obj, now: dt.datetime, *, deadline: bool) -> dt.datetime:
    last = (cronjob.get("status") or {}).get("lastScheduleTime")
    since = parse_time(last or cronjob["metadata"]["creationTimestamp"])
    seconds = cronjob["spec"].get("startingDeadlineSeconds")
    if deadline and seconds is not None:
        since = max(since, now - dt.timedelta(seconds=seconds))
    return since


def most_recent(cronjob: Obj, now: dt.datetime, schedule: Schedule, *, deadline: bool = True) -> Missed:
    """The latest time of the schedule that is not after now."""
    since = _since(cronjob, now, deadline=deadline)
    first = schedule.next(since)
    if first is None or now < first:
        return Missed(since, None)
    second = schedule.next(first)
    if second is None or now < second:
        return Missed(since, first)
    count = int((now - first) / (second - first)) + 1
    latest: dt.datetime = first
    following: dt.datetime | None = second
    while following is not None and following <= now:
        latest, following = following, schedule.next(following)
    return Missed(since, latest, count > MANY)


def until_next(cronjob: Obj, now: dt.datetime, schedule: Schedule) -> float | None:
    """Seconds until the schedule has to be looked at again."""
    missed = most_recent(cronjob, now, schedule, deadline=False)
    base = missed.time or missed.since
    following = schedule.next(base)
    if missed.time is not None:
        following = schedule.next(now)
    if following is None:
        return None
    return max((following - now + SLACK).total_seconds(), SLACK.total_seconds())
