"""Which pod and container of a workload a command runs in."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final, NamedTuple

from jobrelay.kube import Object
from jobrelay.relay.mirror_pods.listing import container_names, index_of

_DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"


class PodProblem(Enum):
    """Why no pod can be chosen."""

    NONE_RUNS = "none of them runs"
    SEVERAL_RUN = "several of them run"
    NOT_THERE = "there is no such pod or container"


class Chosen(NamedTuple):
    """A pod on a worker, and one of its containers."""

    pod: Object
    container: str


class NotChosen(NamedTuple):
    """Why no pod was chosen, and the sentence that says so."""

    problem: PodProblem
    message: str


def choose_pod(
    pods: Sequence[Object], described: str, *, pod: str = "", index: str = "", container: str = ""
) -> Chosen | NotChosen:
    """The only one of a workload's pods that runs, or the one that is meant; `described` is the workload."""
    if not pods:
        return NotChosen(PodProblem.NONE_RUNS, f"{described} has no pods: they were deleted, or are not created yet")
    meant = [each for each in pods if (not pod or each.name == pod) and (not index or index_of(each) == index)]
    wanted = f"pod {pod}" if pod else f"pod of index {index}"
    if not meant:
        return NotChosen(PodProblem.NOT_THERE, f"{described} has no {wanted}; its pods: {_list_of(pods)}")
    running = [each for each in meant if _runs(each)]
    if not running:
        return NotChosen(PodProblem.NONE_RUNS, f"no pod of {described} runs: {_list_of(meant)}")
    if len(running) > 1:
        return NotChosen(PodProblem.SEVERAL_RUN, f"{described} has several pods that run: {_list_of(running)}")
    (found,) = running
    named = container_names(found, container)
    if not named:
        there = ", ".join(container_names(found))
        return NotChosen(
            PodProblem.NOT_THERE, f"pod {found.name} of {described} has no container {container!r}; it has: {there}"
        )
    preferred = found.metadata.annotations.get(_DEFAULT_CONTAINER, "")
    return Chosen(found, preferred if not container and preferred in named else named[0])


def worker_forbids(worker: str, namespace: str, why: str) -> tuple[str, str]:
    """What is wrong where a worker does not let the relay run commands in pods, and what to do about it."""
    command = f"jobrelay worker join {worker} --namespaces {namespace} --exec"
    return (
        f"worker {worker} does not let the relay run commands in pods: {why}",
        f"its administrator allows it by joining it again, with the options of before and --exec: `{command}`",
    )


def _phase(pod: Object) -> str:
    return str((pod.decode().get("status") or {}).get("phase") or "Pending")


def _runs(pod: Object) -> bool:
    return _phase(pod) == "Running" and pod.metadata.deletion_timestamp is None


def _list_of(pods: Sequence[Object]) -> str:
    """Pods with what distinguishes them, at most a screenful."""
    shown = [f"{pod.name} ({_state(pod)})" for pod in pods[:20]]
    more = [f"and {len(pods) - 20} more"] if len(pods) > 20 else []
    return ", ".join([*shown, *more])


def _state(pod: Object) -> str:
    index = index_of(pod)
    state = "Terminating" if pod.metadata.deletion_timestamp is not None else _phase(pod)
    return f"index {index}, {state}" if index else state
