"""What is wrong with pods, in sentences: from their statuses and, where those say nothing, from their events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from jobrelay.kube import Object
from jobrelay.relay.mirror_pods.listing import index_of

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


def troubles(
    pods: Sequence[Object],
    events: Iterable[Mapping[str, Any]],
    lines: Mapping[tuple[str, str], str] = MappingProxyType({}),
) -> list[str]:
    """A sentence for each thing that keeps pods from running or made them fail; of many, the first ones.

    `lines` are the last lines of logs, by pod and container.
    """
    told = {each["object"]: each for each in events if each["type"] == "Warning" and each["reason"] in _TELLING}
    newest = max((pod.metadata.creation_timestamp or "" for pod in pods), default="")
    found = list(_about_pods(sorted(pods, key=_has_failed), told, lines)) + list(_about_others(told, newest))
    more = [f"{len(found) - _MOST} more like these"] if len(found) > _MOST else []
    return found[:_MOST] + more


def runs(pod: Object) -> bool:
    """Whether a pod runs: it has started, and none of its containers crashes again and again or cannot start."""
    status = pod.decode().get("status") or {}
    waiting = [((each.get("state") or {}).get("waiting") or {}).get("reason", "") for each in _statuses(status)]
    return status.get("phase") == "Running" and all(reason in _QUIET for reason in waiting)


def crashed(pods: Iterable[Object]) -> list[tuple[Object, str]]:
    """Containers that ended with an error and left no message: their last line may say why."""
    found = [(pod, each) for pod in pods for each in _statuses(pod.decode().get("status") or {})]
    return [
        (pod, each["name"]) for pod, each in found if _ended(each).get("exitCode") and not _ended(each).get("message")
    ]


def _statuses(status: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    return (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))


def _ended(container: Mapping[str, Any]) -> Mapping[str, Any]:
    """How a container ended: now, or before it was restarted."""
    now, last = ((container.get(state) or {}).get("terminated") for state in ("state", "lastState"))
    return now or last or {}


def _about_pods(
    pods: Sequence[Object], told: Mapping[str, Mapping[str, Any]], lines: Mapping[tuple[str, str], str]
) -> Iterator[str]:
    for pod in pods:
        status = pod.decode().get("status") or {}
        if status.get("phase") == "Succeeded":
            continue
        sentences = [*_containers(pod.name, status, lines), *_conditions(status), *_failure(status)]
        event = told.get(f"Pod/{pod.name}")
        if not sentences and event is not None and status.get("phase") in (None, "Pending"):
            sentences = [f"{event['reason']}: {event['message']}"]
        yield from (f"pod {_named(pod)}: {each}" for each in sentences)


def _has_failed(pod: Object) -> bool:
    """Pods that have ended are listed after those that have not."""
    return (pod.decode().get("status") or {}).get("phase") == "Failed"


def _about_others(told: Mapping[str, Mapping[str, Any]], newest: str) -> Iterator[str]:
    """Such as a quota that lets a Job create no pods, unless a pod was created since: `newest` is when."""
    for name, event in told.items():
        if not name.startswith("Pod/") and event.get("time", "") >= newest:
            yield f"{name}: {event['reason']}: {event['message']}"


def _named(pod: Object) -> str:
    index = index_of(pod)
    return f"{pod.name} (index {index})" if index else pod.name


def _containers(pod: str, status: Mapping[str, Any], lines: Mapping[tuple[str, str], str]) -> Iterator[str]:
    for each in _statuses(status):
        state, end = each.get("state") or {}, _end(_ended(each), lines.get((pod, each["name"]), ""))
        waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
        restarts = each.get("restartCount", 0)
        if waiting.get("reason") == "CrashLoopBackOff":
            yield f"container {each['name']} crashes again and again, {restarts} times so far; {end}"
        elif waiting.get("reason", "") not in _QUIET:
            yield f"container {each['name']} cannot start: {_reason(waiting)}"
        elif ended.get("exitCode"):
            yield f"container {each['name']} {end}"
        elif restarts and _ended(each).get("exitCode"):
            yield f"container {each['name']} was restarted {restarts} times; {end}"


def _end(terminated: Mapping[str, Any], line: str) -> str:
    if not terminated:
        return "how it ended is not known"
    reason = terminated.get("reason", "")
    known = f" ({reason})" if reason not in ("", "Error") else ""
    message = (terminated.get("message") or line).strip().splitlines()
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
