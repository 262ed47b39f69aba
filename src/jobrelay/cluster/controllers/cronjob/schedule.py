"""Which time of a schedule a CronJob has to act on now, and when to look again."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final, NamedTuple

from jobrelay.apimachinery.cron import Schedule, ScheduleError
from jobrelay.apimachinery.times import parse_time

SLACK: Final = dt.timedelta(milliseconds=100)
MANY: Final = 100
Obj = dict[str, Any]


class Missed(NamedTuple):
    """The latest time that is due (None: nothing is), counted from `since`, and how many more than one there were."""

    since: dt.datetime
    time: dt.datetime | None
    number: int = 0

    @property
    def many(self) -> bool:
        return self.number > MANY


def _since(cronjob: Obj, now: dt.datetime, *, deadline: bool) -> dt.datetime:
    last = (cronjob.get("status") or {}).get("lastScheduleTime")
    since = parse_time(last or cronjob["metadata"]["creationTimestamp"])
    seconds = cronjob["spec"].get("startingDeadlineSeconds")
    if deadline and seconds is not None:
        since = max(since, now - dt.timedelta(seconds=seconds))
    return since


def most_recent(cronjob: Obj, now: dt.datetime, schedule: Schedule, *, deadline: bool = True) -> Missed:
    """The latest time of the schedule that is not after now; raises ScheduleError for a schedule that is never due.

    How many times were missed is an estimate by the first two. The search begins shortly before where that many lead, so
    that years of missed minutes cost no more than a few.
    """
    since = _since(cronjob, now, deadline=deadline)
    first = schedule.next(since)
    second = schedule.next(first) if first is not None else None
    if first is None or second is None:
        raise ScheduleError("time difference between two schedules is less than 1 second")
    if now < first:
        return Missed(since, None)
    if now < second:
        return Missed(since, first)
    distance = second - first
    count = (now - first) // distance + 1
    latest: dt.datetime | None = None
    following = schedule.next(first + (count - 2) * distance)
    while following is not None and following <= now:
        latest, following = following, schedule.next(following)
    return Missed(since, latest, count)


def until_next(cronjob: Obj, now: dt.datetime, schedule: Schedule) -> float | None:
    """Seconds until the schedule has to be looked at again; None when it is never due."""
    try:
        missed = most_recent(cronjob, now, schedule, deadline=False)
    except ScheduleError:
        return None
    base = missed.time or (now if missed.number else missed.since)
    following = schedule.next(base)
    if following is None:
        return None
    return max((following - now + SLACK).total_seconds(), SLACK.total_seconds())
