"""What the pods of a simulated fleet really did: which runs of each workload had running pods, and when.

It is fed with committed changes of Jobs and pods on workers, so it sees what ran and not what anyone says about it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from jobrelay.cluster.store.store import Change
from jobrelay.workloads.names import ORIGIN_UID


class _Owner(msgspec.Struct):
    uid: str = ""
    controller: bool = False


class _PodMetadata(msgspec.Struct, rename="camel"):
    uid: str = ""
    name: str = ""
    owner_references: list[_Owner] = []
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class _PodPhase(msgspec.Struct, frozen=True):
    phase: str = ""


class _ObservedObject(msgspec.Struct):
    metadata: _PodMetadata
    status: _PodPhase = _PodPhase()


_decoder = msgspec.json.Decoder(_ObservedObject)
_CONTROLLER_UID = "batch.kubernetes.io/controller-uid"


class MirrorRun(NamedTuple):
    """One mirror on one cluster."""

    cluster: str
    mirror: str


@dataclass(frozen=True, slots=True)
class DoubleRun:
    """Two runs of one workload that had running pods at the same time."""

    at: float
    workload: str
    first: MirrorRun
    second: MirrorRun

    def __str__(self) -> str:
        return f"{self.workload} runs on {self.second.cluster} while it still runs on {self.first.cluster}"


@dataclass(slots=True)
class RunningPods:
    """Running pods by workload (the original's uid) and run. `on_double_run` is called when a second run begins."""

    time: Callable[[], float]
    on_double_run: Callable[[DoubleRun], None]
    started: dict[str, float] = field(default_factory=dict)
    """By workload: when its first pod ran."""
    succeeded: set[str] = field(default_factory=set)
    """The workloads that had a pod which succeeded."""
    _workloads: dict[str, str] = field(default_factory=dict)
    _running: dict[str, dict[MirrorRun, set[str]]] = field(default_factory=dict)

    def changed(self, cluster: str, resource: str, change: Change) -> None:
        """A change was committed."""
        self._seen(cluster, resource, change.raw, exists=change.after is not None)

    def exists(self, cluster: str, resource: str, raw: bytes) -> None:
        """A cluster has an object that no change told of, since it was restored."""
        self._seen(cluster, resource, raw, exists=True)

    def forget(self, cluster: str) -> None:
        """Nothing runs on a cluster any more: it was wiped, or what runs is told anew."""
        for runs in self._running.values():
            for run in [run for run in runs if run.cluster == cluster]:
                del runs[run]

    def _seen(self, cluster: str, resource: str, raw: bytes, *, exists: bool) -> None:
        found = _decoder.decode(raw)
        if resource == "jobs.batch":
            if (uid := found.metadata.annotations.get(ORIGIN_UID)) is not None:
                self._workloads[found.metadata.uid] = uid
            return
        mirror = found.metadata.labels.get(_CONTROLLER_UID, "")
        workload = self._workloads.get(mirror)
        if workload is None:
            return
        run = MirrorRun(cluster, mirror)
        if exists and found.status.phase == "Running":
            self._started(workload, run, found.metadata.uid)
        else:
            if found.status.phase == "Succeeded":
                self.succeeded.add(workload)
            self._stopped(workload, run, found.metadata.uid)

    def _started(self, workload: str, run: MirrorRun, pod: str) -> None:
        self.started.setdefault(workload, self.time())
        runs = self._running.setdefault(workload, {})
        if run not in runs:
            for other in runs:
                self.on_double_run(DoubleRun(self.time(), workload, other, run))
        runs.setdefault(run, set()).add(pod)

    def _stopped(self, workload: str, run: MirrorRun, pod: str) -> None:
        runs = self._running.get(workload, {})
        pods = runs.get(run)
        if pods is not None:
            pods.discard(pod)
            if not pods:
                del runs[run]
