"""Predicates and readings of one pod: whether it is active or failed, its index, when it finished."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from typing import Final

from jobrelay.apimachinery.times import shifted
from jobrelay.cluster.controllers.job.views import (
    FAILURE_COUNT,
    IGNORED_COUNT,
    TRACKING_FINALIZER,
    ContainerStatus,
    Job,
    Pod,
    PodCondition,
    Time,
)
from jobrelay.kinds.batch.job.names import INDEX_KEY

NO_INDEX: Final = -1
_EPOCH: Final = dt.datetime(1, 1, 1, tzinfo=dt.UTC)
_INTEGER = re.compile(r"[+-]?[0-9]+")
_TERMINAL: Final = ("Succeeded", "Failed")


def is_active(pod: Pod) -> bool:
    return pod.status.phase not in _TERMINAL and pod.metadata.deletion_timestamp is None


def is_terminating(pod: Pod) -> bool:
    return pod.status.phase not in _TERMINAL and pod.metadata.deletion_timestamp is not None


def is_succeeded(pod: Pod) -> bool:
    return pod.status.phase == "Succeeded"


def is_failed(pod: Pod, job: Job) -> bool:
    """Whether a pod has failed; a deleted pod counts as failed at once, unless the Job waits for its pods to end."""
    if pod.status.phase == "Failed":
        return True
    if job.replaces_only_failed:
        return False
    return pod.metadata.deletion_timestamp is not None and pod.status.phase != "Succeeded"


def is_tracked(pod: Pod) -> bool:
    """Whether a pod still has the finalizer that keeps it until it is counted."""
    return TRACKING_FINALIZER in pod.metadata.finalizers


def ready_condition(pod: Pod) -> PodCondition | None:
    return next((one for one in pod.status.conditions if one.type == "Ready"), None)


def is_ready(pod: Pod) -> bool:
    condition = ready_condition(pod)
    return condition is not None and condition.status == "True"


def completion_index(pod: Pod) -> int:
    """The completion index of a pod, NO_INDEX if it has none."""
    text = pod.metadata.annotations.get(INDEX_KEY)
    if text is None or not _INTEGER.fullmatch(text):
        return NO_INDEX
    return max(int(text), NO_INDEX)


def has_valid_index(pod: Pod, job: Job) -> bool:
    """Whether the pod's index is one of an Indexed Job's; always true for other Jobs."""
    return not job.indexed or NO_INDEX < completion_index(pod) < job.completions


def index_failures(pod: Pod) -> int:
    """How often the pod's index failed before this pod."""
    return _count(pod, FAILURE_COUNT)


def index_ignored_failures(pod: Pod) -> int:
    return _count(pod, IGNORED_COUNT)


def _count(pod: Pod, annotation: str) -> int:
    text = pod.metadata.annotations.get(annotation, "")
    value = int(text) if _INTEGER.fullmatch(text) else 0
    return value if 0 <= value < 2**31 else 0


def sidecar_names(pod: Pod) -> set[str]:
    return {one.name for one in pod.spec.init_containers if one.restart_policy == "Always"}


def restarts(pod: Pod) -> int:
    return sum(one.restart_count for one in (*pod.status.container_statuses, *pod.status.init_container_statuses))


def finish_time(pod: Pod) -> Time:
    """When a pod finished: by its containers, else its readiness, else its deletion, else its creation."""
    found = _containers_finished(pod)
    if found is not None:
        return found
    ready = ready_condition(pod)
    if ready is not None and ready.status == "False" and ready.last_transition_time is not None:
        return ready.last_transition_time
    deleted = pod.metadata.deletion_timestamp
    if deleted is not None:
        return shifted(deleted, -(pod.metadata.deletion_grace_period_seconds or 0))
    return pod.metadata.creation_timestamp or _EPOCH


def _containers_finished(pod: Pod) -> Time | None:
    """When the last container finished, sidecars included; None if one has not."""
    found = _latest(None, pod.status.container_statuses)
    sidecars = sidecar_names(pod)
    return _latest(found, (one for one in pod.status.init_container_statuses if one.name in sidecars))


def _latest(found: Time | None, statuses: Iterable[ContainerStatus]) -> Time | None:
    for status in statuses:
        terminated = status.state.terminated
        if terminated is None or terminated.finished_at is None:
            return None
        if found is None or found < terminated.finished_at:
            found = terminated.finished_at
    return found
