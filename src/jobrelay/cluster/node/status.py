"""Builds a pod's status from the states of its containers, with a kubelet's rules, reasons and messages.

Runtimes keep one `ContainerRun` per container and build the whole status when one of them changes. Conditions keep
their transition time unless their status changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jobrelay.cluster.node.containerrun import ContainerRun
from jobrelay.cluster.node.nodes import ADDRESS
from jobrelay.kinds.core.pod.common import is_sidecar
from jobrelay.kinds.core.pod.status import may_restart

Obj = dict[str, Any]
KUBELET_CONDITIONS: Final = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
ENDED: Final = ("Succeeded", "Failed")


@dataclass(slots=True)
class PodView:
    """The parts of a pod object that its status depends on."""

    spec: Mapping[str, Any]
    generation: int = 1
    conditions: Sequence[Mapping[str, Any]] = ()
    start_time: str = ""


def phase_of(spec: Mapping[str, Any], runs: Mapping[str, ContainerRun], *, stopping: bool = False) -> str:
    """The phase of a pod with containers in these states; a `stopping` pod restarts nothing any more."""
    init_failed, init_pending = _init_progress(spec, runs, stopping)
    if init_failed:
        return "Failed"
    states = [runs[container["name"]] for container in spec.get("containers") or ()]
    if any(run.waiting and run.last is None for run in states):
        return "Failed" if stopping and not init_pending else "Pending"
    if init_pending and not any(run.running for run in states):
        return "Pending"
    sidecars = (runs[c["name"]] for c in spec.get("initContainers") or () if is_sidecar(c))
    if any(run.running for run in (*states, *sidecars)):
        return "Running"
    codes = [run.last_exit_code or 0 for run in states]
    restarting = not stopping and any(
        may_restart(container, spec, code) for container, code in zip(spec["containers"], codes, strict=True)
    )
    if restarting:
        return "Running"
    return "Failed" if any(codes) else "Succeeded"


def _init_progress(spec: Mapping[str, Any], runs: Mapping[str, ContainerRun], stopping: bool) -> tuple[bool, bool]:
    """Whether initialization has failed for good, and whether it is still in progress."""
    failed = pending = False
    # With restart policy `Always`, init containers are restarted only if they fail.
    policy = {"restartPolicy": "OnFailure"} if spec.get("restartPolicy", "Always") == "Always" else spec
    for container in spec.get("initContainers") or ():
        run = runs[container["name"]]
        if is_sidecar(container):
            pending = pending or not (run.started or run.last or run.exit_code is not None)
            continue
        if code := run.last_exit_code:
            failed = failed or stopping or not may_restart(container | {"restartPolicy": None}, policy, code)
        pending = pending or run.exit_code != 0
    return failed, pending


def pod_status(
    pod: PodView, runs: Mapping[str, ContainerRun], now: str, *, sandbox: bool = True, stopping: bool = False
) -> Obj:
    """The status of a pod as a patch; it does not contain the conditions of other writers."""
    phase = phase_of(pod.spec, runs, stopping=stopping)
    inits = pod.spec.get("initContainers") or ()
    status: Obj = {
        "phase": phase,
        "observedGeneration": pod.generation,
        "conditions": conditions_of(pod, runs, phase, now, sandbox=sandbox and phase not in ENDED),
        "containerStatuses": [runs[container["name"]].encode() for container in pod.spec.get("containers") or ()],
        "startTime": pod.start_time or now,
        "hostIP": ADDRESS,
        "hostIPs": [{"ip": ADDRESS}],
    }
    if inits:
        status["initContainerStatuses"] = [runs[container["name"]].encode() for container in inits]
    if sandbox:
        status |= {"podIP": ADDRESS, "podIPs": [{"ip": ADDRESS}]}
    return status


def conditions_of(pod: PodView, runs: Mapping[str, ContainerRun], phase: str, now: str, *, sandbox: bool) -> list[Obj]:
    """The conditions that a kubelet owns."""
    initialized, why = _initialized(pod.spec, runs, phase)
    containers = _containers_ready(pod.spec, runs, phase)
    ready = containers if containers[0] == "False" else _gates_open(pod)
    wanted = {
        "PodReadyToStartContainers": ("True" if sandbox else "False", "", ""),
        "Initialized": (initialized, *why),
        "Ready": ready,
        "ContainersReady": containers,
        "PodScheduled": ("True", "", ""),
    }
    known = {condition["type"]: condition for condition in pod.conditions}
    return [_condition(kind, wanted[kind], known.get(kind), pod.generation, now) for kind in KUBELET_CONDITIONS]


def _condition(
    kind: str, wanted: tuple[str, str, str], known: Mapping[str, Any] | None, generation: int, now: str
) -> Obj:
    status, reason, message = wanted
    since = known.get("lastTransitionTime") if known is not None and known.get("status") == status else None
    found: Obj = {
        "type": kind, "status": status, "lastProbeTime": None, "lastTransitionTime": since or now,
        "observedGeneration": generation,
    }  # fmt: skip
    for name, text in (("reason", reason), ("message", message)):
        if text:
            found[name] = text
        elif known is not None and known.get(name):
            found[name] = None  # deletes the field in a merge patch
    return found


def _initialized(spec: Mapping[str, Any], runs: Mapping[str, ContainerRun], phase: str) -> tuple[str, tuple[str, str]]:
    if phase == "Succeeded":
        return "True", ("PodCompleted", "")
    mains = (runs[container["name"]] for container in spec.get("containers") or ())
    if any(not run.waiting or run.last is not None for run in mains):
        return "True", ("", "")
    inits = ((runs[container["name"]], is_sidecar(container)) for container in spec.get("initContainers") or ())
    waiting = [run.name for run, sidecar in inits if not (run.started if sidecar else run.ready)]
    if waiting:
        return "False", ("ContainersNotInitialized", f"containers with incomplete status: [{' '.join(waiting)}]")
    return "True", ("", "")


def _containers_ready(spec: Mapping[str, Any], runs: Mapping[str, ContainerRun], phase: str) -> tuple[str, str, str]:
    if phase == "Succeeded":
        return "False", "PodCompleted", ""
    if phase == "Failed":
        return "False", "PodFailed", ""
    counted = [c["name"] for c in spec.get("initContainers") or () if is_sidecar(c)]
    counted += [c["name"] for c in spec.get("containers") or ()]
    unready = [name for name in counted if not runs[name].ready]
    if unready:
        return "False", "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"
    return "True", "", ""


def _gates_open(pod: PodView) -> tuple[str, str, str]:
    known = {condition["type"]: condition.get("status") for condition in pod.conditions}
    closed = []
    for gate in pod.spec.get("readinessGates") or ():
        kind = gate["conditionType"]
        if kind not in known:
            closed.append(f'corresponding condition of pod readiness gate "{kind}" does not exist.')
        elif known[kind] != "True":
            closed.append(f'the status of pod readiness gate "{kind}" is not "True", but {known[kind]}')
    return ("False", "ReadinessGatesNotReady", ", ".join(closed)) if closed else ("True", "", "")
