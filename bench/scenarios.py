"""The measurements. Each starts a server of its own from a cold interpreter and returns its figures."""

from __future__ import annotations

import pathlib
import statistics
from dataclasses import dataclass
from typing import Final

from bench.calibrate import round_trip
from bench.process import Helper, Server, compile_package, helper, server
from bench.report import Figure

STARTS: Final = 3
JOBS: Final = 10_000
EACH: Final = 500  # creates in a round
SWEEP: Final = 2_000
CLIENTS: Final = 20
WARM_UP: Final = 500
LISTS: Final = 5
WATCHERS: Final = 1_000
EVENTS: Final = 50
CREATE_BUDGET: Final = 40.0  # CPU of a create, in readings and writings of the Job by the standard library
SWEEP_BUDGET: Final = 50.0


def startup(folder: pathlib.Path) -> list[Figure]:
    """Four clusters in one process, from nothing: the median of a few starts."""
    compile_package()
    starts = sorted(_start(folder / str(number)) for number in range(STARTS))
    seconds, cpu, memory = starts[STARTS // 2]
    waited = max(seconds - cpu, 0.0)
    note = f"{cpu:.2f} s CPU for imports, keys and first objects; {waited:.2f} s waiting for a core or the disk"
    shared = "modules and type tables, shared by all clusters"
    return [
        Figure("4 clusters ready from cold", seconds, "s", 2.0, note=note),
        Figure("memory of 4 clusters", memory / 1e6, "MB", 160.0, note=shared),
    ]


def _start(folder: pathlib.Path) -> tuple[float, float, int]:
    with server(folder, ["a", "b", "c", "d"], "process") as running:
        return running.seconds, running.cpu(), running.memory()


def writes(folder: pathlib.Path) -> list[Figure]:
    """Creates 10,000 Jobs durably with 20 clients, lists them, and measures their memory."""
    with server(folder, ["dev"]) as running:
        cluster = running.clusters[0]
        with helper("bench.load", cluster.url, cluster.kubeconfig, str(CLIENTS)) as load:
            load.hear()
            load.ask(do="namespace")
            load.ask(do="create", first=900_000, count=WARM_UP)
            before = running.memory()
            rounds = [_create(running, load, number * EACH) for number in range(JOBS // EACH)]
            weight = (running.memory() - before) / JOBS / 1024
            listed = statistics.median(load.ask(do="list", count=1)["seconds"] for _ in range(LISTS))
            sweep = [_create(running, load, 500_000 + number * EACH, sweep=True) for number in range(SWEEP // EACH)]
    faster = sum(each.seconds for each in rounds) / listed
    note = f"{listed * 1000:.0f} ms for one list: joining, encrypting and sending its bytes"
    return [
        *_create_figures(rounds, sweep),
        Figure("list of 10,000 Jobs, faster than creating them", faster, "x", 5.0, at_least=True, note=note),
        Figure(
            "memory per stored Job",
            weight,
            "KiB",
            12.0,
            note="its JSON, its place in the history of watches, the controllers' copy",
        ),
    ]


@dataclass(frozen=True, slots=True)
class _Round:
    """The cost of some creates: wall clock, CPU of the server and of the load, and CPU of a JSON round trip after."""

    seconds: float
    cpu: float
    load: float
    yardstick: float


def _create(running: Server, load: Helper, first: int, *, sweep: bool = False) -> _Round:
    begin = running.cpu()
    done = load.ask(do="create", first=first, count=EACH, sweep=sweep)
    return _Round(done["seconds"], running.cpu() - begin, done["cpu"], round_trip())


def _create_figures(rounds: list[_Round], sweep: list[_Round]) -> list[Figure]:
    seconds, cpu = sum(each.seconds for each in rounds), sum(each.cpu for each in rounds)
    share, load = cpu / seconds, sum(each.load for each in rounds)
    note = f"one core, of which the server had {share:.0%}; with all of it {JOBS / cpu:,.0f}/s"
    others = "" if share > 0.9 else "; the rest went to other processes"
    trip = statistics.median(each.yardstick for each in rounds)
    return [
        Figure("Job creates with 20 clients, durable", JOBS / seconds, "/s", 1000.0, at_least=True, note=note + others),
        Figure("server CPU per create", cpu / JOBS * 1e6, "us", 1000.0, note=f"load: {load / JOBS * 1e6:.0f} us"),
        Figure("the same in json round trips of the Job", _in_round_trips(rounds), "x", CREATE_BUDGET,
               note=f"median of {len(rounds)} rounds, round trip {trip * 1e6:.1f} us; checks, defaults, managedFields"),
        Figure("the same for a sweep, all Jobs different", _in_round_trips(sweep), "x", SWEEP_BUDGET,
               note="nothing of the template is known from the Job before"),
    ]  # fmt: skip


def _in_round_trips(rounds: list[_Round]) -> float:
    return statistics.median(each.cpu / EACH / each.yardstick for each in rounds)


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
