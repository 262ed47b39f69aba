"""The pod table. Its Status column sums up phase, reasons, conditions and container states in one word.

Init containers are read in order up to the first that is not done; only then are the ordinary containers considered,
the last one first, so that the first container's state wins.
"""

from __future__ import annotations

import datetime as dt
from typing import Final

from jobrelay.kinds.tables.ages import since
from jobrelay.kinds.tables.columns import AGE, Obj, TableSpec, at, col, table, wide
from jobrelay.kinds.tables.texts import NONE, condition_of, is_true

_TERMINAL: Final = ("Succeeded", "Failed")
_ROW_CONDITIONS: Final = {
    "Succeeded": {
        "type": "Completed", "status": "True", "reason": "Succeeded", "message": "The pod has completed successfully.",
    },
    "Failed": {"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."},
}  # fmt: skip


class PodSummary:
    """Ready containers, status word and restarts of a pod, worked out once."""

    def __init__(self, pod: Obj) -> None:
        self.spec: Obj = pod.get("spec") or {}
        self.status: Obj = pod.get("status") or {}
        self.sidecars = {
            container["name"]
            for container in self.spec.get("initContainers") or ()
            if container.get("restartPolicy") == "Always"
        }
        self.total = len(self.spec.get("containers") or ()) + len(self.sidecars)
        self.ready = 0
        self.restarts = 0
        self.last_restart = ""
        self.sidecar_statuses: list[Obj] = []
        self.reason = self._phase_reason()
        initializing = self._read_init_containers()
        if not initializing or is_true(self.status.get("conditions"), "Initialized"):
            self._read_containers()
        self._read_deletion(pod)

    def _phase_reason(self) -> str:
        for condition in self.status.get("conditions") or ():
            if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
                return "SchedulingGated"
        reason: str = self.status.get("reason") or self.status.get("phase") or ""
        return reason

    def _count_restarts(self, container: Obj) -> None:
        self.restarts += container.get("restartCount", 0)
        finished = (container.get("lastState", {}).get("terminated") or {}).get("finishedAt") or ""
        self.last_restart = max(self.last_restart, finished)

    def _read_init_containers(self) -> bool:
        statuses = self.status.get("initContainerStatuses") or ()
        for index, container in enumerate(statuses):
            self._count_restarts(container)
            if container.get("name") in self.sidecars:
                self.sidecar_statuses.append(container)
            state = container.get("state") or {}
            terminated = state.get("terminated")
            if terminated is not None and terminated.get("exitCode", 0) == 0:
                continue
            if container.get("name") in self.sidecars and container.get("started"):
                self.ready += bool(container.get("ready"))
                continue
            self.reason = self._init_reason(state, index)
            return True
        return False

    def _init_reason(self, state: Obj, index: int) -> str:
        if (terminated := state.get("terminated")) is not None:
            return "Init:" + _ended(terminated)
        waiting = (state.get("waiting") or {}).get("reason", "")
        if waiting and waiting != "PodInitializing":
            return f"Init:{waiting}"
        return f"Init:{index}/{len(self.spec.get('initContainers') or ())}"

    def _read_containers(self) -> None:
        self.restarts, self.last_restart = 0, ""
        for container in self.sidecar_statuses:
            self._count_restarts(container)
        running, error = False, ""
        for container in reversed(self.status.get("containerStatuses") or ()):
            self._count_restarts(container)
            state = container.get("state") or {}
            if (state.get("waiting") or {}).get("reason"):
                self.reason = state["waiting"]["reason"]
            elif (terminated := state.get("terminated")) is not None:
                self.reason = _ended(terminated)
                error = self.reason if terminated.get("exitCode", 0) else error
            elif container.get("ready") and state.get("running") is not None:
                running = True
                self.ready += 1
        if self.reason == "Completed":
            self.reason = self._completed(running, error)

    def _completed(self, running: bool, error: str) -> str:
        if running and any(
            condition.get("type") == "Ready" and condition.get("status") == "True"
            for condition in self.status.get("conditions") or ()
        ):
            return "Running"
        return error or ("NotReady" if running else "Completed")

    def _read_deletion(self, pod: Obj) -> None:
        if not pod["metadata"].get("deletionTimestamp"):
            return
        if self.status.get("reason") == "NodeLost":
            self.reason = "Unknown"
        elif self.status.get("phase") not in _TERMINAL:
            self.reason = "Terminating"


def _ended(terminated: Obj) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _ready(pod: Obj, now: dt.datetime) -> str:
    summary = PodSummary(pod)
    return f"{summary.ready}/{summary.total}"


def _status(pod: Obj, now: dt.datetime) -> str:
    return PodSummary(pod).reason


def _restarts(pod: Obj, now: dt.datetime) -> str:
    summary = PodSummary(pod)
    if summary.restarts and summary.last_restart:
        return f"{summary.restarts} ({since(summary.last_restart, now)} ago)"
    return str(summary.restarts)


def _ip(pod: Obj, now: dt.datetime) -> str:
    status = pod.get("status") or {}
    addresses = status.get("podIPs") or [{"ip": status.get("podIP")}]
    return addresses[0].get("ip") or NONE


def _readiness_gates(pod: Obj, now: dt.datetime) -> str:
    gates = pod["spec"].get("readinessGates") or ()
    if not gates:
        return NONE
    conditions = (pod.get("status") or {}).get("conditions")
    found = [condition_of(conditions, gate.get("conditionType", "")) for gate in gates]
    met = sum(1 for condition in found if condition is not None and condition.get("status") == "True")
    return f"{met}/{len(gates)}"


def pod_conditions(pod: Obj) -> list[dict[str, str]]:
    """The row condition of finished pods."""
    phase = (pod.get("status") or {}).get("phase", "")
    return [_ROW_CONDITIONS[phase]] if phase in _ROW_CONDITIONS else []


PODS: Final = table(
    col("Ready", _ready, text="The aggregate readiness state of this pod for accepting traffic."),
    col("Status", _status, text="The aggregate status of the containers in this pod."),
    col(
        "Restarts",
        _restarts,
        text="The number of times the containers in this pod have been restarted and when the last container in "
        "this pod has restarted.",
    ),
    AGE,
    wide("IP", _ip, "core.v1.PodStatus.podIP"),
    wide("Node", at("spec.nodeName", NONE), "core.v1.PodSpec.nodeName"),
    wide("Nominated Node", at("status.nominatedNodeName", NONE), "core.v1.PodStatus.nominatedNodeName"),
    wide("Readiness Gates", _readiness_gates, "core.v1.PodSpec.readinessGates"),
    conditions=pod_conditions,
)

TABLES: Final[dict[tuple[str, str], TableSpec]] = {("", "pods"): PODS}
