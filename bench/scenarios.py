"""The measurements. Each starts a server of its own from a cold interpreter and returns its figures."""

from __future__ import annotations

import pathlib
import statistics
from dataclasses import dataclass
from typing import Final

from bench.calibrate import Calibration
from bench.process import Helper, Server, helper, server
from bench.report import Figure

JOBS: Final = 10_000
ROUNDS: Final = 5
CLIENTS: Final = 20
WARM_UP: Final = 500
LISTS: Final = 5
WATCHERS: Final = 1_000
EVENTS: Final = 50
CREATE_BUDGET: Final = 25.0  # CPU of a create, in readings and writings of the Job by the standard library
_MIB: Final = 1024 * 1024


def startup(folder: pathlib.Path) -> list[Figure]:
    """Four clusters in one process, from nothing."""
    with server(folder, ["a", "b", "c", "d"]) as running:
        cpu, memory = running.cpu(), running.memory()
    waited = max(running.seconds - cpu, 0.0)
    note = f"{cpu:.2f} s CPU for imports, keys and first objects; {waited:.2f} s waiting for a core or the disk"
    return [
        Figure("4 clusters ready from cold", running.seconds, "s", 2.0, note=note),
        Figure("memory of 4 clusters", memory / 1e6, "MB", 160.0, note="modules and type tables, shared by all clusters"),
    ]


def writes(folder: pathlib.Path) -> list[Figure]:
    """Creating 10,000 Jobs durably with 20 clients, listing them, and what they weigh."""
    with server(folder, ["dev"]) as running:
        cluster = running.clusters[0]
        with helper("bench.load", cluster.url, cluster.kubeconfig, str(CLIENTS)) as load:
            load.hear()
            load.ask(do="namespace")
            load.ask(do="create", first=900_000, count=WARM_UP)
            before = running.memory()
            spent = _create(running, load)
            weight = (running.memory() - before) / JOBS / 1024
            lists = [load.ask(do="list", count=1)["seconds"] for _ in range(LISTS)]
    return [
        *spent.figures(),
        Figure("list of 10,000 Jobs, faster than creating them", spent.seconds / statistics.median(lists), "x", 5.0,
               at_least=True, note=f"{statistics.median(lists) * 1000:.0f} ms for one list; TLS and copying of its bytes"),
        Figure("memory per stored Job", weight, "KiB", 12.0, note="its JSON, its key, its place in the history of watches"),
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Spent:
    """What 10,000 creates took: wall clock, CPU of the server and of the load, the yardstick's CPU for one Job."""

    seconds: float
    cpu: float
    load: float
    yardstick: float

    def figures(self) -> list[Figure]:
        each = self.cpu / JOBS
        share = self.cpu / self.seconds
        busy = f"the server's one core: it had {share:.0%} of one; {1 / each:,.0f}/s at 100%"
        note = busy if share > 0.9 else f"{busy}; the rest went to the load and to other processes"
        return [
            Figure("Job creates with 20 clients, durable", JOBS / self.seconds, "/s", 1000.0, at_least=True, note=note),
            Figure("server CPU per create", each * 1e6, "us", 1000.0, note=f"load generator {self.load / JOBS * 1e6:.0f} us"),
            Figure("the same in json round trips of the Job", each / self.yardstick, "x", CREATE_BUDGET,
                   note=f"one round trip {self.yardstick * 1e6:.1f} us, taken between the rounds"),
        ]  # fmt: skip


def _create(running: Server, load: Helper) -> _Spent:
    yardstick, seconds, generator = Calibration(), 0.0, 0.0
    begin = running.cpu()
    for number in range(ROUNDS):
        done = load.ask(do="create", first=number * JOBS // ROUNDS, count=JOBS // ROUNDS)
        seconds += done["seconds"]
        generator += done["cpu"]
        yardstick.slice()
    return _Spent(seconds, running.cpu() - begin, generator, yardstick.seconds)


def watches(folder: pathlib.Path) -> list[Figure]:
    """1,000 watchers of Jobs in one namespace; Jobs are created one at a time, so that nothing can be coalesced."""
    with server(folder, ["dev"]) as running:
        cluster = running.clusters[0]
        with helper("bench.load", cluster.url, cluster.kubeconfig, "1") as load:
            load.hear()
            load.ask(do="namespace")
            with helper("bench.watchers", cluster.url, cluster.kubeconfig, str(WATCHERS)) as watchers:
                watchers.hear()
                begin = running.cpu()
                load.ask(do="create", first=0, count=EVENTS)
                seen = watchers.ask(events=EVENTS)
                cpu = running.cpu() - begin
    complete = seen["complete"] if seen["names"] == EVENTS else 0
    each = cpu / (WATCHERS * EVENTS) * 1e6
    return [
        Figure("watchers that got every event", complete, f"of {WATCHERS}", WATCHERS, at_least=True),
        Figure("server CPU per delivery", each, "us", 60.0, note="encryption and one send per watcher and event"),
    ]
