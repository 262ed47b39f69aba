"""Life stories of delegated Jobs: users, workers, clocks and bad luck by a seed, and the relay's writes by the adapter.

A story is a management Job and one worker after another. Whatever the adapter wants to write is checked and applied
as an API server would, so that every pair of original and mirror that a story shows can be reached in life. Watches
lag: the relay sees some versions of a mirror and not others, but never an older one after a newer one.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from jobrelay.apimachinery.patch.merge import apply_merge_patch
from jobrelay.kube import Object
from jobrelay.kube.objects import decode_object
from jobrelay.workloads import JobAdapter, MirrorParameters, status_patch
from tests.kinds.workloads import create, update

from .worker import VERSIONS, Worker, text

Obj = dict[str, Any]
ADAPTER = JobAdapter()
NOW = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
CUSTOM = {"type": "Inspected", "status": "True", "reason": "Auditor", "message": "by hand"}


@dataclass(frozen=True)
class Edit:
    """A write to the original that is not a return: its creation, what a user changes, or that it is idle."""

    verb: str
    subresource: str
    body: Obj


@dataclass(frozen=True)
class Pair:
    """An original and a mirror of it at one moment, and the writes that led here from the pair before."""

    story: int
    edits: tuple[Edit, ...]
    original: Obj
    mirror: Obj


def as_object(job: Obj) -> Object:
    return decode_object(msgspec.json.encode(job))


@dataclass
class Story:
    """One Job; `play` runs it and calls `returned` with every pair."""

    number: int
    chance: random.Random
    returned: Callable[[Pair], Obj | None]
    now: dt.datetime = NOW
    epoch: int = 0
    worker: Worker | None = None
    skew: dt.timedelta = dt.timedelta()
    seen: int = 0
    edits: list[Edit] = field(default_factory=list)

    def __post_init__(self) -> None:
        metadata = {"name": f"story-{self.number}", "namespace": "n", "uid": f"original-{self.number}"}
        body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": random_spec(self.chance)}
        self.fenced = self.chance.random() < 0.15
        self.failures = self.chance.choice((0.0, 0.3, 0.6))
        self.original, errors = create("Job", body)
        assert not errors, [str(error) for error in errors]
        self.edits.append(Edit("create", "", body))

    @property
    def finished(self) -> bool:
        return ADAPTER.read(as_object(self.original)).end is not None

    def play(self, steps: int) -> None:
        for _ in range(steps):
            self.now += dt.timedelta(seconds=self.chance.choice((0, 1, 1, 5, 40)))
            if self.worker is None:
                self._dispatch()
            else:
                self.worker.now = self.now + self.skew
                self._step(self.worker)
            if self.finished and self.chance.random() < 0.2:
                return

    def _step(self, worker: Worker) -> None:
        roll = self.chance.random()
        if roll < 0.30:
            worker.sync()
        elif roll < 0.65:
            worker.move(self.chance, failures=self.failures)
        elif roll < 0.83:
            self._return(worker)
        elif roll < 0.90:
            self._forward(worker)
        elif roll < 0.96:
            self._edit()
        elif not worker.finished or self.chance.random() < 0.3:
            self.worker = None

    def _dispatch(self) -> None:
        if self.original["spec"]["suspend"] and self.chance.random() < 0.8:
            status = ADAPTER.suspended_status(as_object(self.original), self.now)
            if status is not None:
                self._patch_status(status, note=True)
            self._edit()
            return
        self.epoch, self.seen = self.epoch + 1, 0
        self.skew = dt.timedelta(seconds=self.chance.choice((0, 0, 2, -2, 3600, -3600)))
        body = ADAPTER.mirror(as_object(self.original), self._parameters())
        uid = f"mirror-{self.number}-{self.epoch}"
        self.worker = Worker(body, self.now + self.skew, uid=uid, version=self.chance.choice(VERSIONS))
        for _ in range(self.chance.choice((0, 0, 10, 40))):
            self._unseen(self.worker)

    def _unseen(self, worker: Worker) -> None:
        """Something happens on the worker before the relay looks there."""
        self.now += dt.timedelta(seconds=self.chance.choice((0, 1, 5)))
        worker.now = self.now + self.skew
        if self.chance.random() < 0.5:
            worker.sync()
        else:
            worker.move(self.chance, failures=self.failures)

    def _parameters(self, mirror: Obj | None = None) -> MirrorParameters:
        """A fenced mirror is created suspended and released later."""
        lease = self.chance.randint(20, 600) if self.fenced else None
        held = self.fenced and (mirror is None or (mirror["spec"]["suspend"] and self.chance.random() < 0.5))
        return MirrorParameters("manager", self.epoch, self.original["metadata"]["name"], lease, held)

    def _return(self, worker: Worker) -> None:
        self.seen = self.chance.randint(self.seen, len(worker.versions) - 1) if self.chance.random() < 0.3 else -1
        self.seen %= len(worker.versions)
        pair = Pair(self.number, tuple(self.edits), self.original, worker.versions[self.seen])
        status = self.returned(pair)
        self.edits.clear()
        if status is not None:
            self._patch_status(status)

    def _patch_status(self, status: Obj, *, note: bool = False) -> None:
        change = {"status": status_patch(self.original["status"], status)}
        if note:
            self.edits.append(Edit("patch", "status", change))
        new, errors = update("Job", self.original, change, "status")
        assert not errors, [str(error) for error in errors]
        self.original = new

    def _forward(self, worker: Worker) -> None:
        patch = ADAPTER.mirror_patch(as_object(self.original), as_object(worker.job), self._parameters(worker.job))
        if patch is not None and not worker.finished:
            assert worker.patch(patch) == []

    def _edit(self) -> None:
        """Something that a user or another controller writes, if the API server takes it."""
        if self.chance.random() < 0.1 and not self.finished:
            conditions = [
                *self.original["status"].get("conditions", []),
                {**CUSTOM, "lastTransitionTime": text(self.now)},
            ]
            self._patch_status(apply_merge_patch(self.original["status"], {"conditions": conditions}), note=True)
            return
        change = {"spec": random_change(self.chance, self.original["spec"])}
        new, errors = update("Job", self.original, change)
        if not errors:
            self.original = new
            self.edits.append(Edit("patch", "", change))


def random_spec(chance: random.Random) -> Obj:
    """A spec of any kind of Job, small enough to end."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    spec: Obj = {"managedBy": "jobrelay.dev/relay", "template": {"spec": pod}, "parallelism": chance.randint(0, 4)}
    spec["suspend"] = chance.random() < 0.25
    if chance.random() < 0.9:
        spec["completions"] = chance.randint(0, 5)
    if chance.random() < 0.3:
        spec["backoffLimit"] = chance.randint(0, 3)
    if chance.random() < 0.15:
        spec["activeDeadlineSeconds"] = chance.randint(20, 400)
    if chance.random() < 0.5 and "completions" in spec:
        spec |= _indexed(chance, spec["completions"])
    if chance.random() < 0.3:
        per_index = "backoffLimitPerIndex" in spec
        actions = ["Ignore", "Count", "FailJob", *(["FailIndex"] if per_index else [])]
        codes = {"operator": "In", "values": [chance.choice((1, 2, 3))]}
        spec["podFailurePolicy"] = {"rules": [{"action": chance.choice(actions), "onExitCodes": codes}]}
    elif chance.random() < 0.3:
        spec["podReplacementPolicy"] = "Failed"
    return spec


def _indexed(chance: random.Random, completions: int) -> Obj:
    spec: Obj = {"completionMode": "Indexed"}
    if chance.random() < 0.5:
        spec["parallelism"] = completions
    if chance.random() < 0.5:
        spec["backoffLimitPerIndex"] = chance.randint(0, 1)
        if chance.random() < 0.5:
            spec["maxFailedIndexes"] = chance.randint(0, completions)
    if chance.random() < 0.4 and completions:
        spec["successPolicy"] = {"rules": [{"succeededCount": chance.randint(1, completions)}]}
    return spec


def random_change(chance: random.Random, spec: Obj) -> Obj:
    """A change of a spec; not all of them are allowed."""
    number = chance.randint(0, 6)
    selector = {"disk": f"d{number}"}
    changes: list[Obj] = [
        {"suspend": not spec["suspend"]},
        {"suspend": not spec["suspend"]},
        {"parallelism": number},
        {"parallelism": number, "completions": number},
        {"activeDeadlineSeconds": chance.choice((None, 60 * number + 30))},
        {"backoffLimit": number},
        {"maxFailedIndexes": chance.choice((None, number))},
        {"template": {"spec": {"nodeSelector": chance.choice((None, selector))}, "metadata": {"labels": selector}}},
    ]
    return chance.choice(changes)
