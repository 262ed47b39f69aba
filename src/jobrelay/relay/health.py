"""When a worker counts as lost, and when losing workers rather means that the relay itself is cut off."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from jobrelay.relay.model import State, WorkerFacts
from jobrelay.relay.settings import Settings

__all__ = ["frozen", "lost_at"]


def frozen(workers: Iterable[WorkerFacts], window: float) -> bool:
    """Whether most workers vanished at once.

    Then it is likelier that the relay's own network failed than that they all did, and starting everything again
    elsewhere would do the greatest harm. Workers that an operator declared lost do not count on either side.
    """
    judged = [worker for worker in workers if worker.state is not State.LOST]
    losses = sorted(worker.lost_since for worker in judged if worker.lost_since is not None)
    if len(judged) < 2:
        return False
    apart = timedelta(seconds=window)
    together = max((sum(first <= other <= first + apart for other in losses) for first in losses), default=0)
    return 2 * together > len(judged)


def lost_at(
    cluster: str,
    workers: Mapping[str, WorkerFacts],
    removed: Mapping[str, datetime],
    settings: Settings,
    grace: float | None,
) -> datetime | None:
    """When the workloads of a cluster may be started elsewhere, None while it answers.

    `grace` is what the pods of a fenced workload have to end themselves: it may not start elsewhere before the lease
    that its worker heard of last has certainly run out.
    """
    worker = workers.get(cluster)
    since = worker.lost_since if worker is not None else removed.get(cluster)
    if since is None:
        return None
    declared = worker is not None and worker.state is State.LOST
    wait = 0.0 if declared else settings.lost_timeout
    if grace is not None:
        wait = max(wait, settings.lease + grace + settings.margin)
    return since + timedelta(seconds=wait)
