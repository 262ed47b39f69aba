"""The measurements: kinds of clusters take turns, so that all see the same load from other users of the machine.

While one is measured, the others are idle. The relay is a separate process that is started for each of its turns, so
that no relay watches plain Jobs.
"""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from bench.process import Cluster, Helper, compile_package, helper
from bench.real.clusters import Measured, embedded, real
from bench.real.runs import Creates, Lives, Runs, Start, Written
from bench.relayfleet import RelayProcess, Writes, relay, settle

T = TypeVar("T")
CLIENTS: Final = 20
WARM_UP: Final = 50
HELD: Final = 1_000
PACED: Final = 60
PACE: Final = 5.0  # Jobs a second
WRITTEN: Final = 100
WORKERS: Final = ("worker-1", "worker-2")
KEEP: Final = "20s"  # longer than the Jobs of a round take, so that mirrors are removed after them


@dataclass(frozen=True, slots=True)
class Plan:
    folder: pathlib.Path
    programs: pathlib.Path
    jobs: int
    rounds: int


def run(plan: Plan) -> Runs:
    """Measures everything."""
    compile_package()
    runs = Runs()
    _say(f"starting an embedded and a real cluster in turn, {plan.rounds} times")
    for number in range(plan.rounds):
        _starts(plan, number, runs)
    _say("starting a management cluster, two workers and an embedded cluster")
    with (
        embedded(plan.folder / "embedded") as ours,
        real(plan.folder / "fleet", plan.programs, ["management", *WORKERS], WORKERS) as fleet,
        _load(ours.cluster) as on_ours,
        _load(fleet[1].cluster) as on_real,
        _load(fleet[0].cluster) as on_management,
    ):
        sides = [_Side("embedded", ours, on_ours), _Side("real", fleet[1], on_real)]
        relayed = _Relayed(fleet, on_management)
        runs.written = _noted(relayed.written())
        for side in sides:
            side.load.ask(prefix="held-warm-up", count=WARM_UP, job="held", until="created")
            side.load.ask(prefix="warm-up", count=WARM_UP, job="plain")
        for number in range(plan.rounds):
            _say(f"round {number + 1} of {plan.rounds}")
            runs.creates += [_noted(side.create(number)) for side in sides]
            runs.lives += [_noted(side.live(number, plan.jobs)) for side in sides]
            runs.lives.append(_noted(relayed.live(number, plan.jobs)))
        _say(f"{PACE:g} Jobs a second")
        runs.paced = [_noted(sides[1].paced()), _noted(relayed.paced())]
    return runs


def _starts(plan: Plan, number: int, runs: Runs) -> None:
    with embedded(plan.folder / f"embedded-{number}") as ours:
        runs.starts.append(_noted(Start("embedded", ours.seconds, ours.memory())))
    with real(plan.folder / f"real-{number}", plan.programs, ["alone"], ["alone"]) as (theirs,):
        runs.starts.append(_noted(Start("real", theirs.seconds, theirs.memory())))


@dataclass(frozen=True, slots=True)
class _Side:
    """A cluster that runs plain Jobs."""

    kind: str
    measured: Measured
    load: Helper

    def create(self, number: int) -> Creates:
        done = self.load.ask(prefix=f"held-{number}", count=HELD, job="held", until="created")
        return Creates(self.kind, HELD, done["creating"])

    def live(self, number: int, jobs: int) -> Lives:
        return self._lives(prefix=f"plain-{number}", count=jobs)

    def paced(self) -> Lives:
        return self._lives(prefix="paced", count=PACED, rate=PACE)

    def _lives(self, **order: Any) -> Lives:
        begin = self.measured.cpu()
        done = self.load.ask(job="plain", **order)
        used = {name: value - begin[name] for name, value in self.measured.cpu().items()}
        return _lives(self.kind, done, used, self.measured.memory())


@dataclass(frozen=True, slots=True)
class _Relayed:
    """The fleet, with a relay that comes and goes."""

    fleet: Sequence[Measured]
    load: Helper

    def live(self, number: int, jobs: int) -> Lives:
        """Jobs until they are Complete, and what the relay needs until nothing is left of them on the workers."""
        with self._relay("--keep-finished", KEEP) as ours:
            before = ours.calls()
            self.load.ask(prefix=f"warm-up-{number}", count=WARM_UP)
            settle(ours, before, WARM_UP)
            before, begin = ours.calls(), ours.cpu()
            lives = self._lives(ours, prefix=f"fast-{number}", count=jobs)
            settle(ours, before, jobs)
            return replace(lives, relay_cpu=ours.cpu() - begin)

    def paced(self) -> Lives:
        with self._relay() as ours:
            self.load.ask(prefix="paced-warm-up", count=WARM_UP)
            return self._lives(ours, prefix="delegated-paced", count=PACED, rate=PACE)

    def written(self) -> Written:
        """With mirrors that are removed at once, so that this is counted too; comes first, when there are no others."""
        with self._relay("--keep-finished", "1s") as ours:
            before = ours.calls()
            self.load.ask(prefix="written-warm-up", count=WARM_UP)
            settle(ours, before, WARM_UP)
            before = ours.calls()
            self.load.ask(prefix="written", count=WRITTEN)
            made = settle(ours, before, WRITTEN)
        return Written(WRITTEN, made.needed, made.events)

    @contextmanager
    def _relay(self, *options: str) -> Iterator[RelayProcess]:
        management, *workers = [each.cluster for each in self.fleet]
        with relay(management, workers, *options) as ours:
            yield ours

    def _lives(self, ours: RelayProcess, **order: Any) -> Lives:
        begin, calls = self._cpu(ours), ours.calls()
        done = self.load.ask(**order)
        used = {name: value - begin[name] for name, value in self._cpu(ours).items()}
        writes = Writes(calls, ours.calls()).needed
        return _lives("relay", done, used, {"relay": ours.memory()}, writes)

    def _cpu(self, ours: RelayProcess) -> dict[str, float]:
        of_fleet = {f"{each.cluster.name}/{name}": value for each in self.fleet for name, value in each.cpu().items()}
        return {"relay": ours.cpu(), **of_fleet}


def _lives(
    kind: str, done: dict[str, Any], cpu: dict[str, float], memory: dict[str, int], writes: int | None = None
) -> Lives:
    middle, most, nearly_all = done["latency"]
    return Lives(
        kind,
        done["done"],
        done["seconds"],
        done["creating"],
        (middle, most, nearly_all),
        {**cpu, "load": done["cpu"]},
        memory,
        writes,
    )


@contextmanager
def _load(cluster: Cluster) -> Iterator[Helper]:
    with helper("bench.relayload", str(CLIENTS), cluster.url, cluster.kubeconfig) as load:
        load.hear()
        yield load


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _noted(what: T) -> T:
    _say(f"  {what}")
    return what
