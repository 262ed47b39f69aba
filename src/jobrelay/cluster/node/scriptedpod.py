"""A scripted pod as a state machine: its stages, when it moves to the next, and the states of its containers.

All containers of a pod start together and differ only in how they end. Transitions that are due at the same time are
made in one step, so a pod with no running time goes from Pending to its end at once, and costs one write.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.node.containerrun import ContainerRun, container_runs, restore
from jobrelay.cluster.node.script import PodScript
from jobrelay.cluster.node.status import Obj, PodView, pod_status
from jobrelay.kinds.core.pod.common import is_sidecar
from jobrelay.kinds.core.pod.status import may_restart

FIRST_BACKOFF: Final = 10.0
LAST_BACKOFF: Final = 300.0
TERMINATED_CODE: Final = 143
DEADLINE: Final = ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")


def backoff(restarts: int) -> float:
    """The delay before a container is restarted; the first restart is immediate."""
    return min(FIRST_BACKOFF * 2.0 ** min(restarts - 1, 10), LAST_BACKOFF) if restarts else 0.0


@dataclass(slots=True)
class ScriptedPod:
    """One pod between its binding and its end; `due` is the time of the next transition, on a monotonic clock."""

    uid: str
    view: PodView
    script: PodScript
    due: float
    stage: Literal["starting", "unready", "running", "waiting", "ended"] = "starting"
    runs: dict[str, ContainerRun] = field(default_factory=dict)
    began: float = math.nan
    reason: tuple[str, str] = ("", "")
    changed: bool = False
    stop_at: float = math.inf

    @classmethod
    def of(cls, uid: str, view: PodView, script: PodScript, now: float) -> ScriptedPod:
        return cls(uid, view, script, now + script.start, runs=container_runs(view.spec))

    def resume(self, status: Mapping[str, Any], now: float, elapsed: float) -> None:
        """Continues a pod that was running `elapsed` seconds ago, before this process started."""
        restore(self.runs, status)
        self.began = now - elapsed
        self.stage, self.due = "running", self.began + self.script.run
        if any(run.waiting for run in self.runs.values()):
            self.stage, self.due = "waiting", now

    def status_written(self) -> None:
        """The current status is in the API: it is not `changed` any more."""
        self.changed = False

    def next_due(self) -> float:
        """When `advance` has something to do; infinite for a pod that has ended or runs forever."""
        return min(self.due, self.stop_at, self._deadline()) if self.stage != "ended" else math.inf

    def advance(self, now: float, wall: dt.datetime) -> None:
        """Makes all transitions that are due."""
        time = format_time(wall)
        while self.stage != "ended" and self.next_due() <= now:
            self.changed = True
            if self.stop_at <= now:
                self._end(time, TERMINATED_CODE)
            elif self._deadline() <= now:
                self.reason = DEADLINE
                self._end(time, TERMINATED_CODE)
            else:
                self._step(now, time)

    def stop(self, at: float) -> None:
        """Ends the pod at that time, unless it ends earlier."""
        self.stop_at = min(self.stop_at, at)

    def _step(self, now: float, time: str) -> None:
        if self.stage == "starting":
            self._start(now, time)
        elif self.stage == "waiting":
            self._run(now, time, [run for run in self.runs.values() if run.waiting])
        elif self.stage == "unready":
            self._ready()
            self.stage, self.due = "running", self.began + self.script.run
        else:
            self._finish(now, time)

    def _start(self, now: float, time: str) -> None:
        self.view.start_time = self.view.start_time or time
        for container in self.view.spec.get("initContainers") or ():
            run = self.runs[container["name"]]
            run.prepare(self.uid)
            if is_sidecar(container):
                run.start(time, ready=True)
                continue
            code = dict(self.script.exit_codes).get(run.name, 0)
            run.terminate(code, time)
            run.ready = code == 0
            if code and not may_restart({}, self.view.spec, code):
                self._end(time, TERMINATED_CODE)
                return
        self._run(now, time, [self.runs[c["name"]] for c in self.view.spec["containers"]])

    def _run(self, now: float, time: str, started: list[ContainerRun]) -> None:
        for run in started:
            run.prepare(self.uid)
            run.start(time)
        self.began = now
        if self.script.ready > 0:
            self.stage, self.due = "unready", now + min(self.script.ready, self.script.run)
            if self.script.ready >= self.script.run:
                self.stage = "running"
        else:
            self._ready()
            self.stage, self.due = "running", now + self.script.run

    def _ready(self) -> None:
        for run in self._main():
            run.ready = run.running

    def _finish(self, now: float, time: str) -> None:
        """Ends the running containers; those that the restart policy allows wait for their restart."""
        if self.script.pod_reason:
            self.reason = (self.script.pod_reason, self.script.message)
            self._end(time, TERMINATED_CODE)
            return
        again = []
        for container in self.view.spec["containers"]:
            run = self.runs[container["name"]]
            if run.running:
                code = self.script.code(run.name, run.restarts)
                self._terminate(run, code, time)
                if may_restart(container, self.view.spec, code):
                    again.append(run)
        for run in again:
            run.back_off(f"back-off {backoff(run.restarts):g}s restarting failed container={run.name}")
        if again:
            self.stage, self.due = "waiting", now + max(backoff(run.restarts) for run in again)
        else:
            self._end(time, 0)

    def _terminate(self, run: ContainerRun, code: int, time: str) -> None:
        run.terminate(code, time, self.script.reason, self.script.message)

    def _end(self, time: str, code: int) -> None:
        """Terminates all containers that still run."""
        for container in self.view.spec.get("initContainers") or ():
            run = self.runs[container["name"]]
            if is_sidecar(container) and run.running:
                self._terminate(run, 0, time)
        for run in self._main():
            if run.running:
                self._terminate(run, code or self.script.code(run.name, run.restarts), time)
        self.stage = "ended"

    def _main(self) -> list[ContainerRun]:
        return [self.runs[container["name"]] for container in self.view.spec["containers"]]

    def _deadline(self) -> float:
        seconds = self.view.spec.get("activeDeadlineSeconds")
        return self.began + seconds if seconds is not None and not math.isnan(self.began) else math.inf

    def status(self, wall: dt.datetime) -> Obj:
        """The pod's current status."""
        now = format_time(wall)
        ended = self.stage == "ended"
        status = pod_status(self.view, self.runs, now, stopping=ended)
        if ended and self.reason[0]:
            status |= {"phase": "Failed", "reason": self.reason[0]}
            if self.reason[1]:
                status["message"] = self.reason[1]
        if ended and self.script.disrupted:
            status["conditions"].append(_disruption(now))
        self.view.conditions = status["conditions"]
        return status


def _disruption(now: str) -> Obj:
    return {
        "type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "lastProbeTime": None,
        "message": "Pod was terminated in response to imminent node shutdown.", "lastTransitionTime": now,
    }  # fmt: skip
