"""What is measured, as plain values: starts of clusters, creates, and Jobs from their creation to their end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Start:
    """One cluster from nothing until it works. Memory by process, in bytes."""

    kind: str
    seconds: float
    memory: Mapping[str, int]

    def __str__(self) -> str:
        return f"{self.kind}: started in {self.seconds:.2f} s, {sum(self.memory.values()) / 1e6:.0f} MB"


@dataclass(frozen=True, slots=True)
class Creates:
    """Jobs that are only stored."""

    kind: str
    jobs: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.jobs / self.seconds

    def __str__(self) -> str:
        return f"{self.kind}: {self.rate:.0f} creates/s"


@dataclass(frozen=True, slots=True)
class Lives:
    """Jobs from create to Complete: CPU seconds by process; latencies are the 50th, 95th and 99th percentile."""

    kind: str
    jobs: int
    seconds: float
    creating: float
    latency: tuple[float, float, float]
    cpu: Mapping[str, float]
    memory: Mapping[str, int]
    writes: int | None = None
    """Of the relay, without Events and while mirrors are kept."""
    relay_cpu: float | None = None
    """Seconds of the relay's CPU until all mirrors are removed and all Events written; `cpu` ends with the last Job."""

    @property
    def rate(self) -> float:
        return self.jobs / self.seconds

    def cpu_each(self, process: str = "") -> float:
        """Milliseconds of CPU per Job, of all processes or of those of a name, on whatever cluster."""
        taken = [value for name, value in self.cpu.items() if process in ("", name.rpartition("/")[2])]
        return sum(taken) / self.jobs * 1e3

    def __str__(self) -> str:
        middle, most, _ = self.latency
        spent = ", ".join(f"{name} {value / self.jobs * 1e3:.1f}" for name, value in self.cpu.items())
        return f"{self.kind}: {self.rate:.1f} Jobs/s, p50 {middle:.2f} s, p95 {most:.2f} s; CPU ms per Job: {spent}"


@dataclass(frozen=True, slots=True)
class Written:
    """What the relay wrote about Jobs until their mirrors were removed."""

    jobs: int
    needed: int
    events: int

    def __str__(self) -> str:
        return f"relay: {self.needed / self.jobs:.2f} writes and {self.events / self.jobs:.2f} Events per Job"


@dataclass(slots=True)
class Runs:
    """All of a run, in the order in which it was measured."""

    starts: list[Start] = field(default_factory=list)
    creates: list[Creates] = field(default_factory=list)
    lives: list[Lives] = field(default_factory=list)
    paced: list[Lives] = field(default_factory=list)
    """So many a second as no cluster has trouble with: plain Jobs, then delegated ones."""
    written: Written | None = None

    def of(self, kind: str) -> list[Lives]:
        return [each for each in self.lives if each.kind == kind]
