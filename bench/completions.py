"""Jobs from creation to completion, on a cluster with all defaults except the runtime: pods are scripted.

A pod without a script ends as soon as it starts, so the cluster is what is measured: API server, Job controller,
scheduler and node in one process, a load generator that creates and watches Jobs in another, TLS between them, and a
store on disk.
"""

from __future__ import annotations

import pathlib
import time
from typing import Final, NamedTuple

from bench.calibrate import round_trip, stolen_seconds
from bench.process import Helper, Server, helper, server
from bench.report import Figure

JOBS: Final = 1_000
ROUNDS: Final = 3
WARM_UP: Final = 100
FINISHED: Final = 10_000
COMPLETIONS: Final = 10_000
PARALLELISM: Final = 500
CLIENTS: Final = 20
IDLE: Final = 20.0
SETTLE: Final = 15.0  # the last events are still being written


def completions(folder: pathlib.Path) -> list[Figure]:
    """Three times 1,000 Jobs of one pod each; then more until 10,000 are finished, and the idle cost of these."""
    with server(folder, ["dev"], "scripted") as running:
        cluster = running.clusters[0]
        with helper("bench.load", cluster.url, cluster.kubeconfig, str(CLIENTS)) as load:
            load.hear()
            load.ask(do="namespace")
            load.ask(do="run", first=0, count=WARM_UP)
            figures = _thousand(running, load)
            rest = FINISHED - WARM_UP - ROUNDS * JOBS
            begin = running.cpu()
            done = load.ask(do="run", first=(ROUNDS + 1) * 100_000, count=rest)
            each = (running.cpu() - begin) / rest
            note = f"{rest / done['seconds']:.0f} Jobs/s; an event or two for each, and older objects in every table"
            figures.append(Figure("server CPU per Job, until 10,000 are finished", each * 1e3, "ms", note=note))
        time.sleep(SETTLE)
        begin, at = running.cpu(), time.perf_counter()
        time.sleep(IDLE)
        share = (running.cpu() - begin) / (time.perf_counter() - at)
    figures.append(Figure("idle with 10,000 finished Jobs", share * 100, "% of a core", 2.0, note="leases, timers"))
    return figures


def _thousand(running: Server, load: Helper) -> list[Figure]:
    """Three times 1,000 Jobs; the median counts, because shared machines are slow for seconds at a time."""
    rounds = sorted(_round(running, load, number) for number in range(1, ROUNDS + 1))
    rate, cpu, trip, note = rounds[ROUNDS // 2]
    others = ", ".join(f"{each.rate:.0f}" for each in rounds)
    return [
        Figure(
            "Jobs from create to Complete, one pod each",
            rate,
            "/s",
            200.0,
            at_least=True,
            note=f"{note}; all: {others}",
        ),
        Figure("server CPU per Job", cpu * 1e3, "ms", 5.0),
        Figure("the same in json round trips of a Job", cpu / trip, "x", note=f"one is {trip * 1e6:.1f} us"),
    ]


class _Round(NamedTuple):
    rate: float
    cpu: float
    trip: float
    note: str


def _round(running: Server, load: Helper, number: int) -> _Round:
    before, begin, stolen = round_trip(), running.cpu(), stolen_seconds()
    done = load.ask(do="run", first=number * 100_000, count=JOBS)
    cpu, stolen = running.cpu() - begin, stolen_seconds() - stolen
    trip, seconds = (before + round_trip()) / 2, done["seconds"]
    note = f"one core, of which the server had {cpu / seconds:.0%}; steal time {stolen / seconds:.0%} of a core"
    return _Round(JOBS / seconds, cpu / JOBS, trip, note)


def indexed(folder: pathlib.Path) -> list[Figure]:
    """One Indexed Job of 10,000 completions."""
    with server(folder, ["dev"], "scripted") as running:
        cluster = running.clusters[0]
        with helper("bench.load", cluster.url, cluster.kubeconfig, "1") as load:
            load.hear()
            load.ask(do="namespace")
            load.ask(do="run", first=0, count=1)
            begin = running.cpu()
            done = load.ask(do="run", first=1, count=1, completions=COMPLETIONS, parallelism=PARALLELISM)
            cpu = running.cpu() - begin
    note = f"one core, of which the server had {cpu / done['seconds']:.0%}"
    return [
        Figure("an Indexed Job of 10,000 completions, 500 at a time", done["seconds"], "s", 60.0, note=note),
        Figure("server CPU per completion", cpu / COMPLETIONS * 1e3, "ms"),
    ]
