"""Originals and mirrors in few words."""

from __future__ import annotations

from typing import Any

from jobrelay.kinds.batch.job.status import broken_rules
from jobrelay.kube import Object
from jobrelay.workloads import JobAdapter, MirrorParameters
from tests.kinds.workloads import create

from .stories import as_object

Obj = dict[str, Any]
ADAPTER = JobAdapter()
PARAMETERS = MirrorParameters("manager", 3, "j")
T0, T1, T2, T3, T4 = (f"2026-01-01T12:0{minute}:00Z" for minute in range(5))
POD = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i:1"}]}


def job(status: Obj | None = None, name: str = "j", /, **spec: Any) -> Obj:
    """An original as its server has it."""
    metadata = {"name": name} | ({"uid": f"uid-of-{name}"} if name != "j" else {})
    body = {"metadata": metadata, "spec": {"managedBy": "jobrelay.dev/relay", "template": {"spec": POD}, **spec}}
    made, errors = create("Job", body)
    assert not errors, [str(error) for error in errors]
    return {**made, "status": status or {}}


def mirror_of(original: Obj, status: Obj | None = None, /, **spec: Any) -> Obj:
    """A mirror as its worker has it, where someone may have changed the spec."""
    body = ADAPTER.mirror(as_object(original), PARAMETERS)
    made, errors = create("Job", {**body, "metadata": {**body["metadata"], "uid": "mirror", "creationTimestamp": T0}})
    assert not errors, [str(error) for error in errors]
    return {**made, "spec": made["spec"] | spec, "status": status or {}}


def returned(original: Obj, mirror: Obj) -> Obj | None:
    """The new status of an original, which must be legal."""
    status = ADAPTER.merged_status(as_object(original), as_object(mirror))
    if status is not None:
        assert broken_rules({**original, "status": status}, original) == []
    return status


def after(old: Obj, seen: Obj, /, **spec: Any) -> Obj:
    """The status that `old` becomes when a mirror with the same spec says `seen`; unchanged if there is nothing new."""
    original = job(old, **spec)
    status = returned(original, mirror_of(original, seen))
    return old if status is None else status


def condition(type_: str, status: str = "True", *, at: str = T2, reason: str = "", message: str = "") -> Obj:
    found = {"type": type_, "status": status, "lastProbeTime": at, "lastTransitionTime": at}
    return found | ({"reason": reason} if reason else {}) | ({"message": message} if message else {})


def short(status: Obj) -> list[str]:
    """Conditions as `Type=Status/Reason@time`."""
    return [
        f"{one['type']}={one['status']}/{one.get('reason', '')}@{one.get('lastTransitionTime', '')[14:16]}"
        for one in status.get("conditions", ())
    ]


def objects(*jobs: Obj) -> list[Object]:
    return [as_object(one) for one in jobs]


SUSPENDED = condition("Suspended", at=T1, reason="JobSuspended", message="Job suspended")
RESUMED = condition("Suspended", "False", at=T2, reason="JobResumed", message="Job resumed")
MET = condition("SuccessCriteriaMet", reason="CompletionsReached", message="Reached expected number of succeeded pods")
COMPLETE = MET | {"type": "Complete"}
TARGET = condition(
    "FailureTarget", reason="BackoffLimitExceeded", message="Job has reached the specified backoff limit"
)
FAILED = TARGET | {"type": "Failed"}
DONE: Obj = {"startTime": T1, "completionTime": T2, "succeeded": 1, "ready": 0, "conditions": [MET, COMPLETE]}
LOST: Obj = {"startTime": T1, "failed": 7, "ready": 0, "conditions": [TARGET, FAILED]}
