"""Situations for tests: Jobs, mirrors and workers, told in a few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Object
from jobrelay.kube.objects import Key, decode_object
from jobrelay.relay.admission import ADMITTED, AdmissionAnswer
from jobrelay.relay.dependencies.answers import Answers
from jobrelay.relay.fencing import NO_STOPS, LeaseStops
from jobrelay.relay.lookalikes import LookAlike
from jobrelay.relay.model import ClockReading, Refusal, RemovedWorker, State, WorkerFacts
from jobrelay.relay.pending import FIRST, Turn
from jobrelay.relay.placement import DEFAULT_POLICY, Placer
from jobrelay.relay.runs import RunHistory
from jobrelay.relay.settings import Settings
from jobrelay.relay.snapshot import Mirror, WorkloadSnapshot
from jobrelay.relay.worker_assignment import WorkerAssignment, assignment_of, epoch_of
from jobrelay.workloads import JobAdapter
from jobrelay.workloads.names import ASSIGNMENT, ORIGIN, RELAY
from tests.relay.proofs import KEYS, proven

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
ORIGIN_OF_TESTS = "tests"
ADAPTER = JobAdapter()
PLACER = Placer()
POLICY = PLACER.parse(DEFAULT_POLICY)
DONE = {
    "type": "Complete",
    "status": "True",
    "lastTransitionTime": "2026-01-01T11:59:00Z",
    "reason": "CompletionsReached",
}
MET = {**DONE, "type": "SuccessCriteriaMet"}


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def job(
    *,
    cluster: str = "",
    epoch: int = 1,
    started: str = "",
    admission: str = "",
    managed_by: str | None = RELAY,
    status: Mapping[str, Any] | None = None,
    annotations: Mapping[str, str] | None = None,
    deleting: bool = False,
    uid: str = "u1",
    version: str = "10",
    **spec: Any,
) -> Object:
    """An original; with `cluster` it is assigned, and `started` is the recorded start of a fenced run."""
    marks = dict(annotations or {})
    if cluster:
        marks[ASSIGNMENT] = WorkerAssignment(cluster, epoch, started=started, admission=admission).encode()
    metadata: dict[str, Any] = {
        "name": "train", "namespace": "team", "uid": uid, "resourceVersion": version, "generation": 1,
        "annotations": marks,
    }  # fmt: skip
    if deleting:
        metadata["deletionTimestamp"] = format_time(NOW)
    return _object(metadata, _spec(managed_by, spec), status or {})


def mirror(
    *,
    epoch: int = 1,
    status: Mapping[str, Any] | None = None,
    deleting: bool = False,
    uid: str = "u1",
    version: str = "20",
    cluster: str = "a",
    **spec: Any,
) -> Object:
    """A mirror of `job` on a worker."""
    metadata: dict[str, Any] = {
        "name": "train",
        "namespace": "team",
        "uid": f"m{epoch}",
        "resourceVersion": version,
        "generation": 1,
        "labels": {ORIGIN: ORIGIN_OF_TESTS, "kueue.x-k8s.io/multikueue-origin": ORIGIN_OF_TESTS},
    }
    if deleting:
        metadata["deletionTimestamp"] = format_time(NOW)
    marked = proven({"metadata": metadata}, ORIGIN_OF_TESTS, cluster, uid=uid, epoch=epoch)
    return _object(marked["metadata"], _spec(None, spec), status or {})


def running(seconds: float = 60) -> dict[str, Any]:
    """The status of a Job that started some seconds ago."""
    return {"startTime": format_time(ago(seconds)), "active": 1, "ready": 1}


def complete(seconds: float = 60) -> dict[str, Any]:
    """The status of a Job that completed some seconds ago."""
    at = format_time(ago(seconds))
    conditions = [{**each, "lastTransitionTime": at} for each in (MET, DONE)]
    started = format_time(ago(seconds + 60))
    return {"startTime": started, "completionTime": at, "succeeded": 1, "ready": 0, "conditions": conditions}


def failed(reason: str, seconds: float = 60) -> dict[str, Any]:
    """The status of a Job that failed some seconds ago."""
    at = format_time(ago(seconds))
    one = {"status": "True", "lastTransitionTime": at, "reason": reason, "message": ""}
    conditions = [{**one, "type": "FailureTarget"}, {**one, "type": "Failed"}]
    return {"startTime": format_time(ago(seconds + 300)), "failed": 1, "ready": 0, "conditions": conditions}


def worker(name: str, *, lost: float | None = None, state: State = State.OPEN, **more: Any) -> WorkerFacts:
    """A worker that answers, or one that has not for some seconds."""
    since = ago(lost) if lost is not None else None
    more = {"clock": ClockReading(NOW), "silent_since": since} | more
    return WorkerFacts(name, lost is None, since, "connection refused" if lost is not None else "", state, **more)


def refusal(message: str = "quota exceeded") -> Refusal:
    return Refusal(message, NOW + timedelta(seconds=30))


def snapshot(
    original: Object,
    workers: Sequence[WorkerFacts] = (),
    mirrors: Mapping[str, Object] | None = None,
    *,
    refusals: Mapping[str, Refusal] | None = None,
    accepted: bool = True,
    removed: Mapping[str, datetime] | None = None,
    silent_since: datetime | None = None,
    namespace: Mapping[str, str] | None = None,
    waited: float = 10.0,
    committed: bool = True,
    runs: RunHistory | None = None,
    owners: Mapping[str, str] | None = None,
    known_since: datetime | None = None,
    inherited: bool = False,
    remembered: WorkerAssignment | None = None,
    lookalikes: Mapping[tuple[str, Key], LookAlike] | None = None,
    now: datetime = NOW,
    stops: LeaseStops = NO_STOPS,
    led_since: datetime | None = None,
    answers: Mapping[str, Answers] | None = None,
    admission: AdmissionAnswer = ADMITTED,
    turn: Turn = FIRST,
    **settings: Any,
) -> WorkloadSnapshot:
    """All that is known; every worker has taken such a Job before unless `accepted` is off.

    This process has written the assignment, and sent nothing for it, unless `committed` is off. It has not reached the
    workers that are `removed` since then, or since `silent_since`.
    """
    to, runs = assignment_of(original), runs or RunHistory()
    if to is not None and committed:
        runs.committed(to.run)
    shape = ADAPTER.demand(original).shape
    return WorkloadSnapshot(
        ADAPTER,
        original,
        ADAPTER.read(original),
        to,
        {name: Mirror(name, obj, ADAPTER.read(obj), epoch_of(obj)) for name, obj in (mirrors or {}).items()},
        {each.name: each for each in workers},
        {name: RemovedWorker(since, silent_since or since) for name, since in (removed or {}).items()},
        Settings(ORIGIN_OF_TESTS, **settings),
        PLACER,
        POLICY,
        now,
        refusals or {},
        {each.name: {shape: None} for each in workers} if accepted else {},
        namespace or {},
        waited,
        owners=owners if owners is not None else {each.identity: each.name for each in workers if each.identity},
        known_since=known_since,
        inherited=inherited,
        runs=runs,
        remembered=remembered,
        lease_stops=stops,
        led_since=led_since,
        keys=KEYS,
        lookalikes=lookalikes or {},
        answers=answers or {},
        admission=admission,
        find_turn=lambda ref, group, rank: turn,
    )


def _spec(managed_by: str | None, changes: Mapping[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "suspend": False,
        "template": {
            "metadata": {},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]},
        },
    }
    if managed_by is not None:
        spec["managedBy"] = managed_by
    return spec | dict(changes)


def _object(metadata: Mapping[str, Any], spec: Mapping[str, Any], status: Mapping[str, Any]) -> Object:
    whole = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec, "status": status}
    return decode_object(msgspec.json.encode(whole))
