"""What is known of a mirror's pods at one moment: whether any of them runs, and what is wrong with them.

A watch brings everything about pods that have not ended, except for their events. The rest is in a `PodInspection`,
which is made on demand: `ObservedPods.unclear` says for which mirrors it is worth a few requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from jobrelay.apimachinery.times import TimeError, parse_time
from jobrelay.kube import Object
from jobrelay.relay.mirror_pods.troubles import crashed, runs, troubles
from jobrelay.workloads import Workload

PATIENCE: Final = 5.0
"""For how many seconds pods may take to start before it is looked why they do not."""


class PodInspection(msgspec.Struct, frozen=True):
    """The result of inspecting the pods of a mirror: how many are in each phase, and what is wrong with them."""

    phases: Mapping[str, int]
    troubles: tuple[str, ...]


class ObservedPods(msgspec.Struct, frozen=True):
    """The pods of one mirror."""

    idle: bool = False
    """Whether none of them runs, as far as is known."""
    troubles: tuple[str, ...] = ()
    unclear: bool = False
    """Whether an inspection may show more."""

    @property
    def headline(self) -> str:
        """The first trouble, and how many more there are; empty if there is none."""
        more = f" (and {len(self.troubles) - 1} more)" if len(self.troubles) > 1 else ""
        return f"{self.troubles[0]}{more}" if self.troubles else ""


NOTHING_OBSERVED: Final = ObservedPods()


class _Status(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    phase: str = ""
    conditions: tuple[Any, ...] = ()
    container_statuses: tuple[Any, ...] = ()
    init_container_statuses: tuple[Any, ...] = ()


class _Pod(msgspec.Struct, frozen=True, gc=False):
    status: _Status = _Status()


def observed_pods(
    facts: Workload, pods: Sequence[Object], inspection: PodInspection | None, now: datetime
) -> ObservedPods:
    """`facts` are those of the mirror, `pods` those of its pods that have not ended, `inspection` a recent one.

    `now` is the time on its worker.

    Where no pods are seen, because they may not be read or are not there yet, the mirror's own count of ready pods
    decides; where its kind has none, it is believed to run.
    """
    doubtful = [pod for pod in pods if not _is_well(pod)]
    idle = len(doubtful) == len(pods) and not any(map(runs, doubtful)) if pods else facts.ready == 0
    found = inspection.troubles if inspection is not None else tuple(troubles(doubtful, ()))
    indexes = (f"failed indexes: {facts.failed_indexes}",) if facts.failed_indexes else ()
    unclear = inspection is None and _is_unclear(facts, doubtful, now, idle=idle)
    return ObservedPods(idle, (*found, *indexes), unclear)


def _is_well(pod: Object) -> bool:
    """Whether a pod has no problem; it is kept without the statuses of containers that are well."""
    status = pod.decode(_Pod).status
    return status.phase == "Running" and not (
        status.conditions or status.container_statuses or status.init_container_statuses
    )


def _is_unclear(facts: Workload, doubtful: Sequence[Object], now: datetime, *, idle: bool) -> bool:
    """Whether there seems to be a problem that only events, failed pods or logs can explain."""
    if facts.started is None or facts.suspended or facts.deleting:
        return False
    if facts.end is not None:
        return not facts.end.succeeded
    if facts.failed or crashed(doubtful):
        return True
    if (now - facts.started).total_seconds() < PATIENCE:
        return False
    return any(_is_stuck(pod, now) for pod in doubtful) if doubtful else idle


def _is_stuck(pod: Object, now: datetime) -> bool:
    """Whether a pod should run by now, and its status does not say why it does not."""
    if runs(pod) or troubles([pod], ()):
        return False
    try:
        created = parse_time(pod.metadata.creation_timestamp or "")
    except TimeError:
        return True
    return (now - created).total_seconds() >= PATIENCE
