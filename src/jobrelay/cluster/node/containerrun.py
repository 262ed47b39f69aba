"""The state of a container over its runs, as a pod's containerStatuses show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Obj = dict[str, Any]
_WAITING: Final = "waiting"
_RUNNING: Final = "running"
_TERMINATED: Final = "terminated"
CREATING: Final = "ContainerCreating"
INITIALIZING: Final = "PodInitializing"


@dataclass(slots=True)
class ContainerRun:
    """The current run of a container, how the previous one ended, and whether it is started and ready."""

    name: str
    image: str
    state: Obj = field(default_factory=lambda: {_WAITING: {"reason": CREATING}})
    last: Obj | None = None
    restarts: int = 0
    ready: bool = False
    started: bool = False
    id: str = ""

    @property
    def waiting(self) -> str:
        """The reason why the container waits, empty if it does not."""
        return str(self.state[_WAITING].get("reason") or _WAITING) if _WAITING in self.state else ""

    @property
    def running(self) -> bool:
        return _RUNNING in self.state

    @property
    def exit_code(self) -> int | None:
        """The exit code of a terminated container."""
        ended = self.state.get(_TERMINATED)
        return ended.get("exitCode", 0) if ended is not None else None

    @property
    def last_exit_code(self) -> int | None:
        """The exit code of the last run that has ended."""
        return self.last.get("exitCode", 0) if self.exit_code is None and self.last else self.exit_code

    def wait(self, reason: str, message: str = "") -> None:
        self.state = {_WAITING: {"reason": reason} | ({"message": message} if message else {})}

    def back_off(self, message: str) -> None:
        """Waits for a restart."""
        self.last = self.state.get(_TERMINATED) or self.last
        self.wait("CrashLoopBackOff", message)

    def prepare(self, pod_uid: str) -> None:
        """Sets the id of the next run, and counts a restart if there was one before."""
        self.last = self.state.get(_TERMINATED) or self.last
        self.restarts += self.last is not None
        self.id = f"jobrelay://{pod_uid}/{self.name}/{self.restarts}"

    def start(self, now: str, *, started: bool = True, ready: bool = False) -> None:
        self.state, self.started, self.ready = {_RUNNING: {"startedAt": now}}, started, ready

    def terminate(self, code: int, now: str, reason: str = "", message: str = "") -> None:
        state: Obj = {"exitCode": code, "reason": reason or ("Completed" if code == 0 else "Error")}
        if message:
            state["message"] = message
        state |= {"startedAt": self.state.get(_RUNNING, {}).get("startedAt", now), "finishedAt": now}
        if self.id:
            state["containerID"] = self.id
        self.state, self.started, self.ready = {_TERMINATED: state}, False, False

    def restore(self, status: Mapping[str, Any]) -> None:
        """Takes over an entry of a pod's containerStatuses."""
        self.state, self.restarts = status.get("state") or self.state, status.get("restartCount", 0)
        self.last, self.id = (status.get("lastState") or {}).get(_TERMINATED), status.get("containerID", "")
        self.ready, self.started = status.get("ready", False), bool(status.get("started"))

    def encode(self) -> Obj:
        """The entry in the pod's containerStatuses."""
        found: Obj = {
            "name": self.name, "image": self.image, "imageID": "", "state": self.state,
            "lastState": {_TERMINATED: self.last} if self.last else {}, "ready": self.ready,
            "restartCount": self.restarts, "started": self.started,
        }  # fmt: skip
        if self.id:
            found["containerID"] = self.id
            found["imageID"] = f"jobrelay://not-pulled/{self.image}"
        return found


def container_runs(spec: Mapping[str, Any]) -> dict[str, ContainerRun]:
    """The runs of all containers of a new pod, by name."""
    containers = (*(spec.get("initContainers") or ()), *spec["containers"])
    return {one["name"]: ContainerRun(one["name"], one.get("image", "")) for one in containers}


def restore(runs: Mapping[str, ContainerRun], status: Mapping[str, Any]) -> None:
    """Restores the runs of containers from a pod's status."""
    for one in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        if one["name"] in runs:
            runs[one["name"]].restore(one)
