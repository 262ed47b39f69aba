"""What is wrong with pods, in sentences: from their statuses and, where those say nothing, from their events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from jobrelay.kube import Object
from jobrelay.relay.api.pods import index_of

_MOST: Final = 10
_QUIET: Final = ("", "ContainerCreating", "PodInitializing")
"""Reasons of waiting that pass by themselves, or whose cause is in an event."""
_TELLING: Final = frozenset({
    "FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox", "FailedScheduling",
    "FailedCreate", "ErrImagePull", "Failed",
})  # fmt: skip


def phases(pods: Iterable[Object]) -> dict[str, int]:
    """How many pods are in each phase."""
    return dict(sorted(Counter((pod.decode().get("status") or {}).get("phase") or "Pending" for pod in pods).items()))


def troubles(pods: Sequence[Object], events: Iterable[Mapping[str, Any]]) -> list[str]:
    """A sentence for each thing that keeps pods from running or made them fail; of many, the first ones."""
    told = {each["object"]: each for each in events if each["type"] == "Warning" and each["reason"] in _TELLING}
    found = list(_about_pods(pods, told)) + list(_about_others(told))
    more = [f"{len(found) - _MOST} more like these"] if len(found) > _MOST else []
    return found[:_MOST] + more


def _about_pods(pods: Sequence[Object], told: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for pod in pods:
        status = pod.decode().get("status") or {}
        if status.get("phase") == "Succeeded":
            continue
        sentences = [*_containers(status), *_conditions(status), *_failure(status)]
        event = told.get(f"Pod/{pod.name}")
        if not sentences and event is not None and status.get("phase") in (None, "Pending"):
            sentences = [f"{event['reason']}: {event['message']}"]
        yield from (f"pod {_named(pod)}: {each}" for each in sentences)


def _about_others(told: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Such as a quota that lets a Job create no pods."""
    for name, event in told.items():
        if not name.startswith("Pod/"):
            yield f"{name}: {event['reason']}: {event['message']}"


def _named(pod: Object) -> str:
    index = index_of(pod)
    return f"{pod.name} (index {index})" if index else pod.name


def _containers(status: Mapping[str, Any]) -> Iterator[str]:
    for each in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        state, last = each.get("state") or {}, (each.get("lastState") or {}).get("terminated") or {}
        waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
        restarts = each.get("restartCount", 0)
        if waiting.get("reason") == "CrashLoopBackOff":
            yield f"container {each['name']} crashes again and again, {restarts} times so far; {_end(last)}"
        elif waiting.get("reason", "") not in _QUIET:
            yield f"container {each['name']} cannot start: {_reason(waiting)}"
        elif ended.get("exitCode"):
            yield f"container {each['name']} {_end(ended)}"
        elif restarts and last.get("exitCode"):
            yield f"container {each['name']} was restarted {restarts} times; {_end(last)}"


def _end(terminated: Mapping[str, Any]) -> str:
    if not terminated:
        return "how it ended is not known"
    reason = terminated.get("reason", "")
    known = f" ({reason})" if reason not in ("", "Error") else ""
    message = (terminated.get("message") or "").strip().splitlines()
    return f"ended with exit code {terminated.get('exitCode')}{known}" + (f": {message[-1]}" if message else "")


def _conditions(status: Mapping[str, Any]) -> Iterator[str]:
    for each in status.get("conditions") or ():
        if each.get("type") == "PodScheduled" and each.get("status") == "False":
            yield f"not on a node: {_reason(each)}"
        elif each.get("type") == "DisruptionTarget" and each.get("status") == "True":
            yield f"was removed from its node: {_reason(each)}"


def _failure(status: Mapping[str, Any]) -> Iterator[str]:
    if status.get("phase") == "Failed" and status.get("reason"):
        yield f"failed: {_reason(status)}"


def _reason(given: Mapping[str, Any]) -> str:
    return ": ".join(each for each in (given.get("reason", ""), given.get("message", "")) if each)
