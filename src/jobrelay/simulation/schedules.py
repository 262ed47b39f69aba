"""Schedules: what goes wrong in a simulated fleet, and when, as values that are drawn from a seed and can be shrunk."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Final

LENGTH: Final = 240.0
"""For how many seconds things go wrong; afterwards everything is mended and the fleet gets time to recover."""

INCIDENTS: Final = {
    "cut": "the link between a relay and a cluster is cut, silently or by refused connections",
    "isolate": "a worker is cut off from both relays",
    "disturb": "requests and answers on a link are lost, late, repeated or answered by errors, and watches break",
    "pause": "a relay or a part of a worker stands still",
    "crash": "a relay or a part of a worker ends without clean-up, and is started again",
    "drain": "an operator drains a worker for a while",
    "lost": "an operator declares a worker lost for a while",
    "clock": "the clock of a relay or a worker jumps",
    "delete-mirror": "somebody deletes a mirror on its worker",
    "forget-assignment": "somebody removes the assignment from an original",
    "restore": "the management cluster is restored from a backup",
}
"""Every kind of incident, and what it is."""

DEFAULT: Final = ("cut", "isolate", "disturb", "pause", "crash", "drain", "lost")
"""The kinds that are drawn unless others are asked for."""

_EMBEDDED_EVERY: Final = 10
_PARTS: Final = ("apiserver", "controllers", "nodes")


class ApiServerKind(StrEnum):
    """Which API server the clusters have: that of embedded clusters, or a faster model of it."""

    EMBEDDED = "embedded"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class JobPlan:
    """A Job that a user creates, and for how long its pod runs."""

    name: str
    at: float
    seconds: float
    fenced: bool


@dataclass(frozen=True, slots=True)
class Incident:
    """Something that happens to a target, for some seconds where it lasts; `amount` is that of a clock's jump."""

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


def draw(seed: int, kinds: Collection[str] = DEFAULT, server: ApiServerKind | None = None) -> Schedule:
    """The schedule of a seed, with incidents of some kinds; unless it is given, every tenth has the embedded server."""
    random = Random(f"schedule {seed}")
    workers, fenced = random.choice((2, 2, 3)), random.random() < 0.5
    jobs = tuple(
        JobPlan(f"job-{number}", random.uniform(2, 60), random.choice((0.5, 5, 30, 90)), fenced)
        for number in range(1, random.randint(1, 3) + 1)
    )
    count = random.choice((0, 1, 2, 2, 3, 4, 6))
    incidents = (_incident(random, random.choice(sorted(kinds)), workers) for _ in range(count))
    if server is None:
        server = ApiServerKind.MODEL if seed % _EMBEDDED_EVERY else ApiServerKind.EMBEDDED
    return Schedule(seed, workers, jobs, tuple(sorted(incidents, key=lambda incident: incident.at)), server)


def _incident(random: Random, kind: str, workers: int) -> Incident:
    at, lasts = random.uniform(5, LENGTH), random.uniform(1, 20) if random.random() < 0.5 else random.uniform(20, 120)
    worker, relay = f"worker-{random.randint(1, workers)}", f"relay-{random.randint(1, 2)}"
    part = random.choice((relay, *(f"{worker}/{part}" for part in _PARTS)))
    match kind:
        case "cut" | "disturb":
            return Incident(at, kind, f"{relay} {random.choice((worker, worker, 'management'))}", lasts)
        case "pause" | "crash":
            return Incident(at, kind, part, lasts)
        case "clock":
            amount = random.choice((-120.0, -20.0, 5.0, 60.0, 150.0))
            return Incident(at, kind, random.choice((relay, worker)), amount=amount)
        case "delete-mirror":
            return Incident(at, kind, worker)
        case "forget-assignment":
            return Incident(at, kind, "management")
        case "restore":
            return Incident(at, kind, "management", lasts)
        case _:
            return Incident(at, kind, worker, lasts)
