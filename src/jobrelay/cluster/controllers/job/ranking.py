"""Which active pods are deleted first when there are too many.

Those with the least progress: not bound to a node, pending, not ready, ready only lately, often restarted, young. An
Indexed Job first deletes pods without a valid index, and all but one pod of each index.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Final

from jobrelay.cluster.controllers.job.pods import NO_INDEX, completion_index, is_ready, ready_condition, sidecar_names
from jobrelay.cluster.controllers.job.views import Job, Pod, Time

_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


def deletion_order(pods: Iterable[Pod]) -> list[Pod]:
    """Pods in the order in which they are deleted."""
    return sorted(pods, key=_rank)


def pods_to_remove(job: Job, active: Sequence[Pod], at_least: int) -> list[Pod]:
    """The active pods to delete: at least that many, and for an Indexed Job all that are superfluous."""
    removed, left = _superfluous(job, active) if job.indexed else ([], list(active))
    if len(removed) < at_least:
        removed += deletion_order(left)[: at_least - len(removed)]
    return removed


def _superfluous(job: Job, active: Sequence[Pod]) -> tuple[list[Pod], list[Pod]]:
    removed: list[Pod] = []
    left: list[Pod] = []
    for index, same in groupby(sorted(active, key=completion_index), key=completion_index):
        pods = deletion_order(same)
        if index == NO_INDEX or index >= job.completions:
            removed += pods
        else:
            removed += pods[:-1]
            left.append(pods[-1])
    return removed, left


def _rank(pod: Pod) -> tuple[Any, ...]:
    ready = is_ready(pod)
    condition = ready_condition(pod) if ready else None
    regular = max((one.restart_count for one in pod.status.container_statuses), default=0)
    sidecars = sidecar_names(pod)
    sidecar = max((one.restart_count for one in pod.status.init_container_statuses if one.name in sidecars), default=0)
    return (
        pod.spec.node_name != "",
        _PHASES.get(pod.status.phase, 0),
        ready,
        _latest_first(condition.last_transition_time if condition else None),
        -regular,
        -sidecar,
        _latest_first(pod.metadata.creation_timestamp),
    )


def _latest_first(time: Time | None) -> float:
    return -time.timestamp() if time is not None else float("-inf")
