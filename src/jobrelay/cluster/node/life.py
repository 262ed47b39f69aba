"""The life of a scripted pod as a small machine: the stages it goes through, when, and what its containers look like then.

All containers of a pod run in step and differ only in how they end. Whatever is due at the same moment happens in one step, so a
pod that takes no time goes from nothing to its end at once, and costs one write.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.node.script import Script
from jobrelay.cluster.node.status import (
    RUNNING,
    TERMINATED,
    WAITING,
    ContainerRun,
    Obj,
    PodView,
    pod_status,
    restore,
    terminated,
)
from jobrelay.kinds.core.pod.common import is_sidecar
from jobrelay.kinds.core.pod.status import may_restart

FIRST_BACKOFF: Final = 10.0
LAST_BACKOFF: Final = 300.0
STOPPED: Final = 143
DEADLINE: Final = ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")


def backoff(restarts: int) -> float:
    """How long a container that ended waits before its next start: the first comes at once."""
    return min(FIRST_BACKOFF * 2.0 ** min(restarts - 1, 10), LAST_BACKOFF) if restarts else 0.0


@dataclass(slots=True)
class Life:
    """One pod between its binding and its end; `due` is when something happens next, on a monotonic clock."""

    uid: str
    view: PodView
    script: Script
    due: float
    stage: Literal["starting", "unready", "running", "waiting", "ended"] = "starting"
    runs: dict[str, ContainerRun] = field(default_factory=dict)
    began: float = math.nan
    reason: tuple[str, str] = ("", "")
    changed: bool = False
    stop_at: float = math.inf

    @classmethod
    def of(cls, uid: str, view: PodView, script: Script, now: float) -> Life:
        life = cls(uid, view, script, now + script.start)
        for container in (*(view.spec.get("initContainers") or ()), *view.spec["containers"]):
            life.runs[container["name"]] = ContainerRun(container["name"], container.get("image", ""))
        return life

    def next_due(self) -> float:
        """When to look again; infinite for a pod that is over or runs for ever."""
        return min(self.due, self.stop_at, self._deadline()) if self.stage != "ended" else math.inf

    def advance(self, now: float, wall: dt.datetime) -> None:
        """Does everything that is due by now."""
        time = format_time(wall)
        while self.stage != "ended" and self.next_due() <= now:
            self.changed = True
            if self.stop_at <= now:
                self._end(time, STOPPED)
            elif self._deadline() <= now:
                self.reason = DEADLINE
                self._end(time, STOPPED)
            else:
                self._step(now, time)

    def stop(self, at: float) -> None:
        """The pod is being deleted and will have ended by then."""
        self.stop_at = min(self.stop_at, at)

    def _step(self, now: float, time: str) -> None:
        if self.stage == "starting":
            self._start(now, time)
        elif self.stage == "waiting":
            self._run(now, time, [run for run in self.runs.values() if WAITING in run.state])
        elif self.stage == "unready":
            self._ready()
            self.stage, self.due = "running", self.began + self.script.run
        else:
            self._finish(now, time)

    def _start(self, now: float, time: str) -> None:
        self.view.start_time = self.view.start_time or time
        for container in self.view.spec.get("initContainers") or ():
            run = self.runs[container["name"]]
            run.id = self._id(run)
            if is_sidecar(container):
                run.state, run.ready, run.started = {RUNNING: {"startedAt": time}}, True, True
                continue
            code = dict(self.script.exit_codes).get(run.name, 0)
            run.state = {TERMINATED: terminated(code, started=time, finished=time, id=run.id)}
            run.ready = code == 0
            if code and not may_restart({}, self.view.spec, code):
                self._end(time, STOPPED)
                return
        self._run(now, time, [self.runs[c["name"]] for c in self.view.spec["containers"]])

    def _run(self, now: float, time: str, started: list[ContainerRun]) -> None:
        for run in started:
            if run.last is not None:
                run.restarts += 1
            run.state, run.started, run.id = {RUNNING: {"startedAt": time}}, True, self._id(run)
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
            run.ready = RUNNING in run.state

    def _finish(self, now: float, time: str) -> None:
        """The containers' time is over: each ends, and some wait to start again."""
        if self.script.pod_reason:
            self.reason = (self.script.pod_reason, self.script.message)
            self._end(time, STOPPED)
            return
        again = []
        for container in self.view.spec["containers"]:
            run = self.runs[container["name"]]
            if RUNNING in run.state:
                code = self.script.code(run.name, run.restarts)
                self._terminate(run, code, time)
                if may_restart(container, self.view.spec, code):
                    again.append(run)
        for run in again:
            run.last, pause = run.state[TERMINATED], backoff(run.restarts)
            text = f"back-off {pause:g}s restarting failed container={run.name}"
            run.state = {WAITING: {"reason": "CrashLoopBackOff", "message": text}}
        if again:
            self.stage, self.due = "waiting", now + max(backoff(run.restarts) for run in again)
        else:
            self._end(time, 0)

    def _terminate(self, run: ContainerRun, code: int, time: str) -> None:
        started = run.state[RUNNING]["startedAt"]
        state = terminated(
            code, started=started, finished=time, reason=self.script.reason, message=self.script.message, id=run.id
        )
        run.state, run.ready, run.started = {TERMINATED: state}, False, False

    def _end(self, time: str, code: int) -> None:
        """Nothing runs any more."""
        for container in self.view.spec.get("initContainers") or ():
            run = self.runs[container["name"]]
            if is_sidecar(container) and RUNNING in run.state:
                self._terminate(run, 0, time)
        for run in self._main():
            if RUNNING in run.state:
                self._terminate(run, code or self.script.code(run.name, run.restarts), time)
        self.stage = "ended"

    def _main(self) -> list[ContainerRun]:
        return [self.runs[container["name"]] for container in self.view.spec["containers"]]

    def _id(self, run: ContainerRun) -> str:
        return f"jobrelay://{self.uid}/{run.name}/{run.restarts}"

    def _deadline(self) -> float:
        seconds = self.view.spec.get("activeDeadlineSeconds")
        return self.began + seconds if seconds is not None and not math.isnan(self.began) else math.inf

    def status(self, wall: dt.datetime) -> Obj:
        """The pod's status as it is now."""
        now = format_time(wall)
        over = self.stage == "ended"
        status = pod_status(self.view, self.runs, now, stopping=over)
        if over and self.reason[0]:
            status |= {"phase": "Failed", "reason": self.reason[0]}
            if self.reason[1]:
                status["message"] = self.reason[1]
        if over and self.script.disrupted:
            status["conditions"].append(_disruption(now))
        self.view.conditions = status["conditions"]
        return status


def _disruption(now: str) -> Obj:
    return {
        "type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "lastProbeTime": None,
        "message": "Pod was terminated in response to imminent node shutdown.", "lastTransitionTime": now,
    }  # fmt: skip


def resume(life: Life, status: Mapping[str, Any], now: float, elapsed: float) -> None:
    """Takes up a pod that already ran before this process began: it goes on as if it had been watched."""
    restore(life.runs, status)
    if status.get("phase") == "Running":
        life.began = now - elapsed
        life.stage, life.due = "running", life.began + life.script.run
        if any(WAITING in run.state for run in life.runs.values()):
            life.stage, life.due = "waiting", now
