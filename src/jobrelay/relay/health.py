"""When a worker counts as lost, and when many losses at once mean that the relay itself is cut off."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from jobrelay.relay.model import State, WorkerFacts
from jobrelay.relay.settings import SUSPECT_AFTER, Settings


def frozen(workers: Iterable[WorkerFacts], window: float) -> bool:
    """Whether most workers were lost within `window` seconds.

    Then the relay's own network is the likelier cause, and starting everything again elsewhere would do the most harm.
    Some return before others when that is over, so those that have just returned count as well. Workers that an
    operator declared lost do not.
    """
    counted = [worker for worker in workers if worker.state is not State.LOST]
    losses = sorted(since for worker in counted if (since := worker.lost_since or worker.returned_from) is not None)
    if len(counted) < 2:
        return False
    apart = timedelta(seconds=window)
    together = max((sum(first <= other <= first + apart for other in losses) for first in losses), default=0)
    return 2 * together > len(counted)


def lost_at(
    worker: WorkerFacts | None,
    since: datetime | None,
    settings: Settings,
    grace: float | None,
    led_since: datetime | None = None,
    silent_since: datetime | None = None,
) -> datetime | None:
    """When the workloads of a worker that is lost since some time may be started elsewhere; None while it answers.

    `grace` is the termination grace period of a fenced workload's pods: it may not start elsewhere before the last
    lease that its worker may have received has certainly run out. The loss begins with the first unanswered request,
    and leases are granted until that is suspicious. An earlier leader may have granted some until `led_since`, when
    this replica began to lead. All that is reckoned from `silent_since`, by monotonic time, if it is known.
    """
    if since is None:
        return None
    declared = worker is not None and worker.state is State.LOST
    wait = 0.0 if declared else settings.lost_timeout
    free_at = since + timedelta(seconds=wait)
    if grace is None:
        return free_at
    silent = max(filter(None, (silent_since or since, led_since)))
    return max(free_at, silent + timedelta(seconds=SUSPECT_AFTER + settings.lease + grace + settings.margin))
