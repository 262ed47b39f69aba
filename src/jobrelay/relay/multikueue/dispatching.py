"""Which workers are asked to admit a Workload: the dispatchers of MultiKueue, and ours. Pure functions.

`all-at-once` asks all at the same time, and the first one that admits it wins. `incremental` asks a few more in the
order of the MultiKueueConfig after every five minutes, counted from the reservation of quota. Ours asks the one that
placement prefers, and the next one only when that has answered that it has no quota: there are no copies to race.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from jobrelay.apimachinery.times import parse_time
from jobrelay.relay.multikueue.views import QueuedWorkload
from jobrelay.relay.snapshot import WorkloadSnapshot

ROUND: Final = 300.0
_MOST: Final = 20
"""How many workers a Workload can name."""


class DispatcherName(StrEnum):
    """How workers are chosen."""

    PLACEMENT = "placement"
    ALL_AT_ONCE = "all-at-once"
    INCREMENTAL = "incremental"


@dataclass(frozen=True, slots=True)
class Dispatching:
    """The dispatcher, and how many more workers `incremental` asks in each round."""

    dispatcher: DispatcherName = DispatcherName.PLACEMENT
    step: int = 3


DEFAULT_DISPATCHING: Final = Dispatching()


def nominated(
    how: Dispatching, workload: QueuedWorkload, snapshot: WorkloadSnapshot, config: tuple[str, ...], wished: str
) -> tuple[str, ...]:
    """The workers that a Workload without an assignment has to name; `wished` is the one that placement prefers."""
    match how.dispatcher:
        case DispatcherName.ALL_AT_ONCE:
            found = [name for name in config if name in snapshot.workers and snapshot.workers[name].connected]
            same = set(found) == set(workload.nominated)
            return workload.nominated if same else tuple(found[:_MOST])
        case DispatcherName.INCREMENTAL:
            return config[: min(_MOST, how.step * _round(workload, snapshot.now))]
        case DispatcherName.PLACEMENT:
            known = not wished or wished in workload.nominated
            return workload.nominated if known else (*workload.nominated, wished)[-_MOST:]


def next_round(how: Dispatching, workload: QueuedWorkload, now: datetime) -> float | None:
    """The seconds until more workers are asked because of time alone."""
    if how.dispatcher is not DispatcherName.INCREMENTAL:
        return None
    return ROUND - _waited(workload, now) % ROUND


def _round(workload: QueuedWorkload, now: datetime) -> int:
    return 1 + int(_waited(workload, now) // ROUND)


def _waited(workload: QueuedWorkload, now: datetime) -> float:
    """The seconds since its quota was reserved."""
    reserved = workload.conditions.get("QuotaReserved")
    since = parse_time(reserved.last_transition_time) if reserved and reserved.last_transition_time else None
    return max(0.0, (now - since).total_seconds()) if since is not None else 0.0
