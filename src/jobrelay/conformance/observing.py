"""Follows the Jobs of a run and their pods, and keeps what each Job has gone through.

Watches show every version of an object, so every step of a Job is judged. Two caches feed one `RunObserver`; whoever
waits for something is woken by each change and looks again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from jobrelay.conformance.rules import Violation
from jobrelay.conformance.steps import judge_step
from jobrelay.kube import Cache, Client, Clock, Forbidden, Object, Unauthorized
from jobrelay.kube.clock import deadline
from jobrelay.kube.resource import JOBS, PODS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["JobRecord", "RunObserver"]

Obj = dict[str, Any]
_FINAL: Final = (Forbidden, Unauthorized)
"""Answers that no patience changes."""
_KEPT: Final = 40
"""How many steps of a Job are kept for its story."""


@dataclass(slots=True)
class JobRecord:
    """What was seen of one Job: its last version, the steps it took, the rules that it broke, the pods it has had."""

    job: Obj
    seen_at: float
    violations: list[Violation] = field(default_factory=list)
    steps: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT))
    pods: dict[str, Obj] = field(default_factory=dict)
    """Those that exist, by uid."""
    made: int = 0
    """How many pods there have been in all."""
    deleted: bool = False

    @property
    def status(self) -> Obj:
        found: Obj = self.job.get("status") or {}
        return found

    def add(self, job: Obj, when: float) -> None:
        """Judge the step to a newer version, and remember it; a rule is reported once for each Job."""
        known = {each.rule.name for each in self.violations}
        self.violations += [each for each in judge_step(self.job, job) if each.rule.name not in known]
        if (job.get("status") or {}) != self.status:
            self.steps.append(f"+{when - self.seen_at:.1f} s  {summary(job.get('status') or {})}")
        self.job = job


def summary(status: Obj) -> str:
    """A status in one line: counts, indexes, and conditions with their reasons."""
    names = ("active", "ready", "terminating", "succeeded", "failed", "completedIndexes", "failedIndexes")
    parts = [f"{name}={status[name]}" for name in names if status.get(name)]
    for each in status.get("conditions") or ():
        shown = "" if each["status"] == "True" else f"={each['status']}"
        parts.append(f"{each['type']}{shown}({each.get('reason', '')})")
    return " ".join(parts) or "nothing active or counted"


class RunObserver:
    """The records of all Jobs of a run, by name; use it inside `running`."""

    def __init__(self, client: Client, namespace: str, selector: str, clock: Clock) -> None:
        self._clock = clock
        self._jobs = Cache(client, JOBS, namespace, clock=clock, terminal=_FINAL, label_selector=selector)
        self._pods = Cache(client, PODS, namespace, clock=clock, terminal=_FINAL)
        self._records: dict[str, JobRecord] = {}
        self._names: dict[str, str] = {}
        self._changed = asyncio.Event()
        self._jobs.subscribe(self._job_changed)
        self._pods.subscribe(self._pod_changed)

    def record(self, name: str) -> JobRecord | None:
        return self._records.get(name)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Follow the Jobs while the block runs, pods only if they may be read; raises KubeError if Jobs may not."""
        jobs, pods, synced = (
            asyncio.create_task(work) for work in (self._jobs.run(), self._pods.run(), self._jobs.wait_synced())
        )
        try:
            await asyncio.wait({jobs, synced}, return_when=asyncio.FIRST_COMPLETED)
            if jobs.done():
                jobs.result()
            yield
        finally:
            for task in (jobs, pods, synced):
                task.cancel()
            await asyncio.gather(jobs, pods, synced, return_exceptions=True)

    async def until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Wait until a condition holds, evaluated after each change; False if it did not in time."""
        try:
            async with deadline(self._clock, seconds):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return holds()
        return True

    def _job_changed(self, old: Object | None, new: Object | None) -> None:
        seen = new or old
        assert seen is not None
        now, job = self._clock.monotonic(), seen.decode()
        record = self._records.get(seen.name)
        if record is None:
            created = {name: value for name, value in job.items() if name != "status"}
            record = self._records[seen.name] = JobRecord(created, now)
            self._names[seen.uid] = seen.name
            record.pods.update(self._owned(seen.uid))
            record.made = len(record.pods)
        record.add(job, now)
        record.deleted = new is None
        self._wake()

    def _owned(self, uid: str) -> Iterator[tuple[str, Obj]]:
        """Pods that were seen before their Job was."""
        for pod in self._pods:
            if pod.metadata.controller is not None and pod.metadata.controller.uid == uid:
                yield pod.uid, pod.decode()

    def _pod_changed(self, old: Object | None, new: Object | None) -> None:
        pod = new or old
        assert pod is not None
        owner = pod.metadata.controller
        name = self._names.get(owner.uid) if owner is not None else None
        if name is None:
            return
        pods = self._records[name].pods
        if new is None:
            pods.pop(pod.uid, None)
        else:
            self._records[name].made += pod.uid not in pods
            pods[pod.uid] = new.decode()
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
