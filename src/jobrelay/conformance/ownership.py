"""Whose a Job is: which controller it names, whether a controller of that name is alive, and since when it is quiet.

Nothing in the API says which programs serve a value of `managedBy`. There are two traces: the Lease of a controller
that elects a leader, whose name or holder usually has a part of the value in it, and the statuses that it has written,
since managedFields tell by whom and when. `ownership` is a pure function of these; `look_up` reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from jobrelay.apimachinery.times import TimeError, format_time, parse_time
from jobrelay.conformance.auditing import controller_of
from jobrelay.kinds.batch.job.names import BUILT_IN_CONTROLLER, COMPLETE, FAILED
from jobrelay.kinds.batch.job.write import is_condition
from jobrelay.kinds.tables.ages import human_duration
from jobrelay.kube import Client, Forbidden
from jobrelay.kube.resource import JOBS, LEASES

__all__ = ["Ownership", "StatusWriteTrace", "look_up", "ownership"]

Obj = Mapping[str, Any]
_BUILT_IN_LEASE: Final = ("kube-system", "kube-controller-manager")
_RECENT: Final = timedelta(minutes=5)
"""How old the last write of a controller may be that counts as alive."""
_PAGES: Final = 4
"""How many pages of Jobs are looked through for writes of the same controller."""
_SHORTEST: Final = 4


@dataclass(frozen=True, slots=True)
class StatusWriteTrace:
    """The last write to a Job's status: who wrote, when, and which Job it was."""

    manager: str
    time: datetime
    job: str


@dataclass(frozen=True, slots=True)
class Ownership:
    """What is known about the controller of a Job; `alive` is None if there is no trace of it at all."""

    controller: str
    alive: bool | None
    evidence: str
    quiet_since: datetime
    sentence: str

    def as_json(self) -> dict[str, Any]:
        """The facts as JSON values."""
        return {
            "name": self.controller,
            "alive": self.alive,
            "evidence": self.evidence,
            "quietSince": format_time(self.quiet_since),
            "sentence": self.sentence,
        }


def ownership(job: Obj, leases: Iterable[Obj], jobs: Iterable[Obj], now: datetime) -> Ownership:
    """Who controls a Job, inferred from the Leases and other Jobs of its cluster."""
    controller = controller_of(job)
    writes = [trace for each in (job, *jobs) if controller_of(each) == controller for trace in _traces(each)]
    latest = max(writes, key=lambda each: each.time, default=None)
    lease = next((each for each in leases if _names(each, controller)), None)
    alive, evidence = _alive(lease, latest, now)
    quiet = max([each.time for each in _traces(job)], default=parse_time(job["metadata"]["creationTimestamp"]))
    sentence = f"{_whose(controller)} {_verdict(alive, evidence)} {_quiet(job, quiet, now)}"
    return Ownership(controller, alive, evidence, quiet, sentence)


async def look_up(client: Client, job: Obj, now: datetime) -> Ownership:
    """Read the traces of a Job's controller and judge them; what may not be read is taken as absent."""
    leases: list[Obj] = []
    jobs: list[Obj] = []
    try:
        leases = [each.decode() for each in (await client.list(LEASES)).items]
    except Forbidden:
        leases = []
    try:
        number = 0
        async for page in client.pages(JOBS):
            jobs += [each.decode() for each in page.items]
            number += 1
            if number == _PAGES:
                break
    except Forbidden:
        jobs = []
    return ownership(job, leases, jobs, now)


def _traces(job: Obj) -> Iterator[StatusWriteTrace]:
    metadata = job["metadata"]
    for each in metadata.get("managedFields") or ():
        if each.get("subresource") == "status" and (time := _time(each.get("time"))) is not None:
            key = f"{metadata.get('namespace', '')}/{metadata['name']}"
            yield StatusWriteTrace(each.get("manager", ""), time, key)


def _time(text: Any) -> datetime | None:
    try:
        return parse_time(text) if isinstance(text, str) else None
    except TimeError:
        return None


def _names(lease: Obj, controller: str) -> bool:
    """Whether a Lease is that of a controller, judged by its name."""
    metadata = lease["metadata"]
    place = (metadata.get("namespace", ""), metadata["name"])
    if controller == BUILT_IN_CONTROLLER or place[0] == "kube-node-lease":
        return controller == BUILT_IN_CONTROLLER and place == _BUILT_IN_LEASE
    host, _, path = controller.partition("/")
    words = [controller.replace("/", "-"), host, *(word for word in (path,) if len(word) >= _SHORTEST)]
    texts = (place[1], str((lease.get("spec") or {}).get("holderIdentity") or ""))
    return any(word in text for word in words for text in texts)


def _alive(lease: Obj | None, latest: StatusWriteTrace | None, now: datetime) -> tuple[bool | None, str]:
    if lease is not None:
        spec, metadata = lease.get("spec") or {}, lease["metadata"]
        renewed = _time(spec.get("renewTime"))
        name = f"Lease {metadata.get('namespace', '')}/{metadata['name']}"
        if renewed is not None and spec.get("holderIdentity"):
            fresh = now - renewed <= timedelta(seconds=2 * (spec.get("leaseDurationSeconds") or 15))
            return fresh, f"{name} was renewed {_ago(renewed, now)} ago by {spec['holderIdentity']}"
    if latest is None:
        return None, ""
    shown = f"{latest.manager or 'somebody'} wrote the status of Job {latest.job} {_ago(latest.time, now)} ago"
    return now - latest.time <= _RECENT, shown


def _whose(controller: str) -> str:
    if controller == BUILT_IN_CONTROLLER:
        return "It belongs to the cluster's own Job controller."
    return f"It belongs to the controller {controller}."


def _verdict(alive: bool | None, evidence: str) -> str:
    if alive is None:
        return "There is no trace of that controller: no Lease has its name, and it has written no status."
    return f"That controller {'is alive' if alive else 'shows no sign of life'}: {evidence}."


def _quiet(job: Obj, since: datetime, now: datetime) -> str:
    status = dict(job.get("status") or {})
    if not status:
        return f"Nobody has written a status since the Job was created {_ago(since, now)} ago."
    if is_condition(status, COMPLETE) or is_condition(status, FAILED):
        return f"The Job has finished; its status was last written {_ago(since, now)} ago."
    return f"Nothing has happened for {_ago(since, now)}: that is how old the last write to its status is."


def _ago(time: datetime, now: datetime) -> str:
    return human_duration(max((now - time).total_seconds(), 0))
