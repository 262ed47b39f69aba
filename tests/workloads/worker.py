"""A worker for tests: one mirror, the real decisions of the Job controller about it, and scripted pods."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import msgspec

from jobrelay.cluster.controllers.job.decision import JobDecision, decide
from jobrelay.cluster.controllers.job.snapshot import SyncState
from jobrelay.cluster.controllers.job.tracking import PlanOutcome, count_uncounted, list_uncounted
from jobrelay.cluster.controllers.job.views import TRACKING_FINALIZER, BatchJobStatus, Job, Pod
from tests.kinds.workloads import create, update

Obj = dict[str, Any]
ENDED = ("Succeeded", "Failed")
CODES = (1, 2, 3)
NEWEST, CLEARS_START, NO_INTERIM, OLDEST = "1.35", "1.36", "1.28", "1.23"
VERSIONS = (NEWEST, NEWEST, CLEARS_START, NO_INTERIM, OLDEST)


def text(time: dt.datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


class Worker:
    """A cluster with one Job. `versions` are all the versions of it that a watch would show."""

    def __init__(self, body: Obj, now: dt.datetime, *, uid: str, version: str = NEWEST) -> None:
        stamped = {**body["metadata"], "uid": uid, "creationTimestamp": text(now)}
        self.job, errors = create("Job", {**body, "metadata": stamped})
        assert not errors, [str(error) for error in errors]
        self.uid, self.version, self.now = uid, version, now
        self.state = SyncState()
        self.pods: dict[str, Obj] = {}
        self.made = 0
        self.versions = [self.shown()]

    @property
    def finished(self) -> bool:
        return any(one["type"] in ("Complete", "Failed") for one in self.job["status"].get("conditions", ()))

    def shown(self) -> Obj:
        """The mirror as a watch shows it, with the status that this version of Kubernetes would write."""
        return {**self.job, "status": as_of(self.version, self.job["status"])}

    def patch(self, change: Obj) -> list[str]:
        """Change the mirror as a request would; what is wrong with that."""
        new, errors = update("Job", self.job, change)
        if not errors:
            self.job = new
            self.versions.append(self.shown())
        return [str(error) for error in errors]

    def sync(self) -> None:
        """One sync of the Job controller that goes well."""
        if self.finished:
            return
        view = msgspec.json.decode(msgspec.json.encode(self.job), type=Job)
        decision = decide(view, self._views(), self.state, self.now)
        self._carry_out(decision)
        if decision.on_hold:
            return
        outcome = PlanOutcome(len(decision.plan.indexes), frozenset(pod.uid for pod in decision.plan.deletes))
        uncounted = list_uncounted(decision.snapshot, decision.plan, outcome)
        if uncounted.changed:
            self._write(uncounted.status)
            self.state = SyncState(decision.snapshot.backoff)
        removed = {pod.uid for pod in uncounted.removals}
        for uid in removed:
            self._release(uid)
        counted = count_uncounted(uncounted, removed, self.now)
        if counted.changed:
            self._write(counted.status)

    def _views(self) -> list[Pod]:
        return [msgspec.json.decode(msgspec.json.encode(pod), type=Pod) for pod in self.pods.values()]

    def _carry_out(self, decision: JobDecision) -> None:
        for pod in decision.plan.deletes:
            self.pods[pod.uid]["metadata"]["deletionTimestamp"] = text(self.now)
            if not decision.keeps_finalizers:
                self._release(pod.uid)
        for body in decision.plan.bodies(decision.snapshot):
            self.made += 1
            uid = f"{self.uid}-{self.made}"
            stamped = {**body["metadata"], "name": uid, "uid": uid, "creationTimestamp": text(self.now)}
            self.pods[uid] = {**body, "metadata": stamped, "status": {"phase": "Pending"}}

    def _release(self, uid: str) -> None:
        pod = self.pods.get(uid)
        if pod is None:
            return
        pod["metadata"]["finalizers"] = [one for one in pod["metadata"]["finalizers"] if one != TRACKING_FINALIZER]
        self._collect(uid)

    def _collect(self, uid: str) -> None:
        """A pod that was deleted is gone when it has ended and nobody holds it."""
        pod = self.pods[uid]
        deleted = "deletionTimestamp" in pod["metadata"]
        if deleted and not pod["metadata"]["finalizers"] and pod["status"]["phase"] != "Running":
            del self.pods[uid]

    def _write(self, status: BatchJobStatus) -> None:
        self.job = {**self.job, "status": msgspec.json.decode(msgspec.json.encode(status))}
        self.versions.append(self.shown())

    def move(self, chance: random.Random, *, failures: float) -> None:
        """Let one pod take its next step."""
        alive = [uid for uid, pod in self.pods.items() if pod["status"]["phase"] not in ENDED]
        if not alive:
            return
        uid = chance.choice(alive)
        pod = self.pods[uid]
        if pod["status"]["phase"] == "Pending" and "deletionTimestamp" not in pod["metadata"]:
            ready = {"type": "Ready", "status": "True", "lastTransitionTime": text(self.now)}
            pod["status"] = {"phase": "Running", "conditions": [ready]}
        else:
            self._end(uid, chance, failed=chance.random() < failures)

    def _end(self, uid: str, chance: random.Random, *, failed: bool) -> None:
        code = chance.choice(CODES) if failed else 0
        done = {"name": "c", "state": {"terminated": {"exitCode": code, "finishedAt": text(self.now)}}}
        self.pods[uid]["status"] = {"phase": "Failed" if failed else "Succeeded", "containerStatuses": [done]}
        self._collect(uid)


def as_of(version: str, status: Obj) -> Obj:
    """A status as another version of Kubernetes would have written it."""
    shown = dict(status)
    conditions = shown.get("conditions", [])
    if version == CLEARS_START and any((one["type"], one["status"]) == ("Suspended", "True") for one in conditions):
        shown.pop("startTime", None)
    if version in (NO_INTERIM, OLDEST):
        conditions = [one for one in conditions if one["type"] not in ("SuccessCriteriaMet", "FailureTarget")]
        shown = {**shown, "conditions": conditions} if conditions else _less(shown, "conditions")
        shown.pop("terminating", None)
    return _less(shown, "ready") if version == OLDEST else shown


def _less(status: Obj, name: str) -> Obj:
    return {key: value for key, value in status.items() if key != name}
