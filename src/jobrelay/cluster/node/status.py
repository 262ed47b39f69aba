"""A pod's status, made from what is known about its containers: the same rules and words as a kubelet's.

Runtimes keep one `ContainerRun` per container and ask for the whole status when something changed. Conditions keep the time of
their last real transition, and a status that says nothing new is not worth a write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from jobrelay.cluster.node.nodes import ADDRESS
from jobrelay.kinds.core.pod.common import is_sidecar
from jobrelay.kinds.core.pod.status import may_restart

Obj = dict[str, Any]
WAITING: Final = "waiting"
RUNNING: Final = "running"
TERMINATED: Final = "terminated"
CREATING: Final = "ContainerCreating"
INITIALIZING: Final = "PodInitializing"
KUBELET_CONDITIONS: Final = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
ENDED: Final = ("Succeeded", "Failed")


@dataclass(slots=True)
class ContainerRun:
    """What is known about one container: its state now, the one before, and whether it is ready."""

    name: str
    image: str
    state: Obj = field(default_factory=lambda: {WAITING: {"reason": CREATING}})
    last: Obj | None = None
    restarts: int = 0
    ready: bool = False
    started: bool = False
    id: str = ""

    @property
    def exit_code(self) -> int | None:
        """How the container ended, if it has."""
        ended = self.state.get(TERMINATED)
        return ended.get("exitCode", 0) if ended is not None else None

    def encode(self) -> Obj:
        """As in a pod's status."""
        found: Obj = {
            "name": self.name, "image": self.image, "imageID": "", "state": self.state,
            "lastState": {TERMINATED: self.last} if self.last else {}, "ready": self.ready,
            "restartCount": self.restarts, "started": self.started,
        }  # fmt: skip
        if self.id:
            found["containerID"] = self.id
            found["imageID"] = f"jobrelay://not-pulled/{self.image}"
        return found


def terminated(
    exit_code: int, *, started: str, finished: str, reason: str = "", message: str = "", id: str = ""
) -> Obj:
    """The state of a container that has ended. Codes above 128 are ends by a signal, told as such by shells and kubelets."""
    state: Obj = {"exitCode": exit_code, "reason": reason or ("Completed" if exit_code == 0 else "Error")}
    if message:
        state["message"] = message
    state |= {"startedAt": started, "finishedAt": finished}
    if id:
        state["containerID"] = id
    return state


@dataclass(slots=True)
class PodView:
    """The parts of a pod that its status depends on."""

    spec: Mapping[str, Any]
    generation: int = 1
    conditions: Sequence[Mapping[str, Any]] = ()
    start_time: str = ""


def restore(runs: Mapping[str, ContainerRun], status: Mapping[str, Any]) -> None:
    """Takes over what a pod's status says about its containers."""
    listed = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
    known = {one["name"]: one for one in listed}
    for name, run in runs.items():
        one = known.get(name)
        if one is None:
            continue
        run.state, run.restarts = one.get("state") or run.state, one.get("restartCount", 0)
        run.last, run.id = (one.get("lastState") or {}).get(TERMINATED), one.get("containerID", "")
        run.ready, run.started = one.get("ready", False), bool(one.get("started"))


def phase_of(spec: Mapping[str, Any], runs: Mapping[str, ContainerRun], *, stopping: bool = False) -> str:
    """The phase that containers in these states make; `stopping` pods restart nothing any more."""
    init_failed, init_pending = _init_progress(spec, runs, stopping)
    if init_failed:
        return "Failed"
    states = [runs[container["name"]] for container in spec.get("containers") or ()]
    if any(WAITING in run.state and run.last is None for run in states):
        return "Failed" if stopping and not init_pending else "Pending"
    if init_pending and not any(RUNNING in run.state for run in states):
        return "Pending"
    sidecars = (runs[c["name"]] for c in spec.get("initContainers") or () if is_sidecar(c))
    if any(RUNNING in run.state for run in (*states, *sidecars)):
        return "Running"
    codes = [(run.exit_code if run.exit_code is not None else (run.last or {}).get("exitCode", 0)) for run in states]
    restarting = not stopping and any(
        may_restart(container, spec, code) for container, code in zip(spec["containers"], codes, strict=True)
    )
    if restarting:
        return "Running"
    return "Failed" if any(codes) else "Succeeded"


def _init_progress(spec: Mapping[str, Any], runs: Mapping[str, ContainerRun], stopping: bool) -> tuple[bool, bool]:
    """Whether initialisation has failed for good, and whether it is still under way."""
    failed = pending = False
    for container in spec.get("initContainers") or ():
        run = runs[container["name"]]
        if is_sidecar(container):
            pending = pending or not (run.started or run.last or TERMINATED in run.state)
            continue
        code = run.exit_code
        if code is None and run.last:
            code = run.last.get("exitCode", 0)
        if code:
            failed = failed or stopping or not may_restart(container | {"restartPolicy": None}, _once(spec), code)
        pending = pending or run.exit_code != 0
    return failed, pending


def _once(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Init containers run to success: a pod that restarts Always restarts them on failure only."""
    return {"restartPolicy": "OnFailure"} if spec.get("restartPolicy", "Always") == "Always" else spec


def pod_status(
    pod: PodView, runs: Mapping[str, ContainerRun], now: str, *, sandbox: bool = True, stopping: bool = False
) -> Obj:
    """The whole status of a pod as a change to its status: conditions of others are not in it."""
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
            found[name] = None  # a merge keeps what it is not told to drop
    return found


def _initialized(spec: Mapping[str, Any], runs: Mapping[str, ContainerRun], phase: str) -> tuple[str, tuple[str, str]]:
    if phase == "Succeeded":
        return "True", ("PodCompleted", "")
    if any(_has_started(runs[container["name"]]) for container in spec.get("containers") or ()):
        return "True", ("", "")
    waiting = [c["name"] for c in spec.get("initContainers") or () if not _init_done(c, runs[c["name"]])]
    if waiting:
        return "False", ("ContainersNotInitialized", f"containers with incomplete status: [{' '.join(waiting)}]")
    return "True", ("", "")


def _has_started(run: ContainerRun) -> bool:
    return WAITING not in run.state or run.last is not None


def _init_done(container: Mapping[str, Any], run: ContainerRun) -> bool:
    return run.started if is_sidecar(container) else run.ready


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
