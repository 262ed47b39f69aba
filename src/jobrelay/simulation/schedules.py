"""Schedules: what goes wrong in a simulated fleet, and when, as values that are drawn from a seed and can be shrunk."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from random import Random
from typing import Final

LENGTH: Final = 240.0
"""For how many seconds things go wrong; afterwards everything is mended and the fleet gets time to recover."""
_BUSY: Final = 100.0
"""In the first seconds most Jobs run, so most incidents happen then."""

INCIDENTS: Final = {
    "cut": "the link between a relay and a cluster is cut, silently or by refused connections",
    "isolate": "a worker is cut off from both relays",
    "partition": "links between relays and clusters are cut in any pattern, some of them one way",
    "cut-off": "all workers but one of three are cut off from both relays at once",
    "disturb": "requests and answers on a link are lost, late, repeated or answered by errors, and watches break",
    "bad-gateway": "every write on a link takes effect and is answered by 502; watches may be behind",
    "late": "every answer to a write on a link comes about 8 seconds late",
    "lag": "watches on a link are up to 8 seconds behind",
    "slow-disk": "every write to a cluster takes up to 5 seconds",
    "expire": "the credentials of a relay for a cluster are refused",
    "pause": "a relay, the management cluster's API server or a part of a worker stands still",
    "hang": "the API server of a worker accepts connections and answers nothing",
    "crash": "a relay, the management cluster's API server or a part of a worker ends without clean-up, "
    "and is started again",
    "drain": "an operator drains a worker for a while",
    "drain-late": "an operator drains a worker while a create there is under way",
    "stale-leader": "the relay that leads stands still, and goes on after another one has drained a worker",
    "stale-retry": "the same, and it stands still before it sends a create again that was put off",
    "late-start": "a mirror is released while its worker's controllers are down; they return after it was cut off",
    "blind-restart": "both relays begin anew without an assignment and without reaching one worker",
    "lost": "an operator declares a worker lost for a while",
    "write-off": "a worker is cut off from both relays, and an operator declares it lost",
    "unregister": "an operator removes a worker, and registers it again",
    "repoint": "an operator points the name of a worker at another cluster for a while",
    "second-name": "an operator registers a cluster under a second name for a while, or renames it",
    "clock": "the clock of a relay or a worker jumps",
    "skew": "the clock of a relay or a worker is wrong from the beginning",
    "wipe": "a worker is installed anew: another cluster at the same address",
    "restore-worker": "a worker is restored from a backup",
    "restore": "the management cluster is restored from a backup",
    "delete-original": "a user deletes a Job",
    "recreate-original": "a user deletes a Job and creates another one of the same name at once",
    "suspend": "a user suspends a Job and resumes it",
    "touch": "somebody changes the labels of a Job again and again, so that writes conflict",
    "forget-assignment": "somebody removes the assignment from an original",
    "forge-assignment": "a user writes an assignment of his own, to any worker and with a higher epoch",
    "replace-original": "a client replaces a whole Job by its own manifest, without the assignment",
    "delete-mirror": "somebody deletes a mirror on its worker",
    "orphan-mirror": "somebody deletes a mirror and leaves its pods",
    "edit-mirror": "somebody suspends a mirror on its worker, or takes its pods away",
    "unmark-mirror": "somebody removes the origin label from a mirror, and puts it back",
    "look-alike": "a tenant of a worker creates a Job elsewhere that looks like a mirror",
    "flood": "a tenant of a worker creates more objects that look like mirrors, or larger ones, than a relay holds",
}
"""Every kind of incident, and what it is."""

_EMBEDDED_EVERY: Final = 10
_PARTS: Final = ("apiserver", "controllers", "nodes")


class ApiServerKind(StrEnum):
    """Which API server the clusters have: that of embedded clusters, or a faster model of it."""

    EMBEDDED = "embedded"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class JobPlan:
    """A Job that a user creates, for how long its pod runs, and how long that takes to stop when it is deleted."""

    name: str
    at: float
    seconds: float
    fenced: bool
    stop: float = 0.0
    clusters: tuple[str, ...] = ()
    """The only workers on which it may run; all if empty."""


@dataclass(frozen=True, slots=True)
class Incident:
    """Something that happens to a target, for some seconds where it lasts; `amount` is by how much a clock is wrong."""

    at: float
    kind: str
    target: str
    seconds: float = 0.0
    amount: float = 0.0

    def __str__(self) -> str:
        lasts = f" for {self.seconds:.1f} s" if self.seconds else ""
        return f"{self.kind} {self.target}{f' by {self.amount:+.0f} s' if self.amount else ''}{lasts}"


@dataclass(frozen=True, slots=True)
class Schedule:
    """One run. The seed also draws what is not written down: delays, interleavings, which request a fault hits."""

    seed: int
    workers: int
    jobs: tuple[JobPlan, ...]
    incidents: tuple[Incident, ...] = ()
    server: ApiServerKind = ApiServerKind.EMBEDDED


def draw(seed: int, kinds: Collection[str] = tuple(INCIDENTS), server: ApiServerKind | None = None) -> Schedule:
    """The schedule of a seed, with incidents of some kinds; unless it is given, every tenth has the embedded server."""
    random = Random(f"schedule {seed}")
    workers, fenced = random.choice((2, 2, 3)), random.random() < 0.5
    jobs = tuple(
        JobPlan(
            f"job-{number}", random.uniform(2, 60), random.choice((0.5, 5, 30, 90)), fenced, random.choice((0.0, 5.0))
        )
        for number in range(1, random.randint(1, 3) + 1)
    )
    count = random.choice((0, 1, 2, 2, 3, 4, 6))
    incidents = [_incident(random, random.choice(sorted(kinds)), workers) for _ in range(count)]
    if any(incident.kind == "forge-assignment" for incident in incidents):
        jobs = (replace(jobs[0], clusters=(f"worker-{random.randint(1, workers)}",)), *jobs[1:])
    if server is None:
        server = ApiServerKind.MODEL if seed % _EMBEDDED_EVERY else ApiServerKind.EMBEDDED
    return Schedule(seed, workers, jobs, tuple(sorted(incidents, key=lambda incident: incident.at)), server)


def _incident(random: Random, kind: str, workers: int) -> Incident:
    at = random.uniform(5, _BUSY if random.random() < 0.7 else LENGTH)
    lasts = random.uniform(1, 20) if random.random() < 0.5 else random.uniform(20, 120)
    worker, relay = f"worker-{random.randint(1, workers)}", f"relay-{random.randint(1, 2)}"
    cluster = random.choice((worker, worker, "management"))
    match kind:
        case "cut" | "disturb" | "bad-gateway" | "late" | "lag" | "expire":
            return Incident(at, kind, f"{relay} {cluster}", lasts)
        case "pause" | "crash":
            parts = (relay, relay, *(f"{worker}/{part}" for part in _PARTS), "management/apiserver")
            return Incident(at, kind, random.choice(parts), lasts)
        case "clock" | "skew":
            amount = random.choice((-120.0, -20.0, 5.0, 60.0, 120.0))
            return Incident(at if kind == "clock" else 0.0, kind, random.choice((relay, worker)), amount=amount)
        case "hang":
            return Incident(at, kind, f"{worker}/apiserver", lasts)
        case "slow-disk":
            return Incident(at, kind, cluster, lasts)
        case "partition":
            return Incident(at, kind, "network", lasts)
        case "restore" | "suspend" | "touch":
            return Incident(at, kind, "management", lasts)
        case "delete-original" | "recreate-original" | "forget-assignment" | "forge-assignment" | "replace-original":
            return Incident(at, kind, "management")
        case "wipe" | "delete-mirror" | "orphan-mirror" | "edit-mirror" | "look-alike":
            return Incident(at, kind, worker)
        case "stale-retry":
            return Incident(at, kind, worker, random.uniform(95, 140))
        case "late-start":
            return Incident(at, kind, worker, random.uniform(120, 170))
        case "blind-restart":
            return Incident(at, kind, worker, random.uniform(20, 30))
        case "cut-off":
            return Incident(at, kind, worker if workers == 3 else "worker-0", lasts if lasts < 60 else 55 + lasts / 8)
        case _:
            return Incident(at, kind, worker, lasts)
