"""The scheduled time that a CronJob has to act on, and when it is due next."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final, NamedTuple

from jobrelay.apimachinery.cron import CronSchedule, ScheduleError
from jobrelay.apimachinery.times import parse_time, shifted

SLACK: Final = dt.timedelta(milliseconds=100)
MANY: Final = 100
Obj = dict[str, Any]


class MissedSchedules(NamedTuple):
    """The latest scheduled time since `since` that is due, if any, and roughly how many there were if more than one."""

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
        since = max(since, shifted(now, -seconds))
    return since


def most_recent(cronjob: Obj, now: dt.datetime, schedule: CronSchedule, *, deadline: bool = True) -> MissedSchedules:
    """The latest scheduled time that is not after now; raises ScheduleError for a schedule that is never due.

    The number of missed times is estimated from the distance of the first two. The search begins shortly before the
    estimated last one, so that years of missed minutes cost no more than a few.
    """
    since = _since(cronjob, now, deadline=deadline)
    first = schedule.next(since)
    second = schedule.next(first) if first is not None else None
    if first is None or second is None:
        raise ScheduleError("time difference between two schedules is less than 1 second")
    if now < first:
        return MissedSchedules(since, None)
    if now < second:
        return MissedSchedules(since, first)
    distance = second - first
    count = (now - first) // distance + 1
    latest: dt.datetime | None = None
    following = schedule.next(first + (count - 2) * distance)
    while following is not None and following <= now:
        latest, following = following, schedule.next(following)
    return MissedSchedules(since, latest, count)


def until_next(cronjob: Obj, now: dt.datetime, schedule: CronSchedule) -> float | None:
    """Seconds until the schedule is due next; None if it never is."""
    try:
        missed = most_recent(cronjob, now, schedule, deadline=False)
    except ScheduleError:
        return None
    base = missed.time or (now if missed.number else missed.since)
    following = schedule.next(base)
    if following is None:
        return None
    return max((following - now + SLACK).total_seconds(), SLACK.total_seconds())
