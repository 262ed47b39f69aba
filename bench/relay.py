"""Delegated Jobs from create to Complete, on a fleet with a process for each cluster and for the relay.

On a small machine the rate is limited by the CPU of all processes together, so the CPU of each is reported. It is also
the figure to compare between changes.
"""

from __future__ import annotations

import pathlib
import signal
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from bench.process import Cluster, Helper, Server, helper
from bench.relayfleet import RelayProcess, Writes, relay, servers, settle
from bench.report import Figure

WORKERS: Final = ("worker-1", "worker-2", "worker-3")
WARM_UP: Final = 100
JOBS: Final = 1_000
CLIENTS: Final = 20
KEEP: Final = "20s"  # longer than the Jobs of a measurement take, so that mirrors are removed after them
LAG_JOBS: Final = 500
LAG_RATE: Final = 50
SHORT: Final = 0.3  # seconds that a pod runs
LIVE: Final = 10_000
LONG: Final = 36_000.0
NODES: Final = 35  # of 110 pods each, on each of three workers
MANY: Final = 50
FEW: Final = 500  # Jobs per number of workers
ROUNDS: Final = 5
ROUND: Final = 300
QUIET: Final = 8.0  # seconds without a finished Job after which the rest is taken to hang


def delegated(folder: pathlib.Path) -> list[Figure]:
    """1,000 Jobs on three workers as fast as possible; then 50 a second, and how soon their changes are seen."""
    with servers(folder, [["management"], *([name] for name in WORKERS)]) as parts:
        management, workers = parts[0].clusters[0], [each.clusters[0] for each in parts[1:]]
        with relay(management, workers, "--keep-finished", KEEP) as ours:
            with _load(management) as load:
                before = ours.calls()
                load.ask(prefix="warm-up", count=WARM_UP)
                settle(ours, before, WARM_UP)
                before, begin = ours.calls(), ours.cpu()
                figures = _thousand(ours, parts, load)
                made = settle(ours, before, JOBS)
                whole = (ours.cpu() - begin) / JOBS * 1e3
            with _load(management, workers) as load:
                done = load.ask(prefix="lag", count=LAG_JOBS, rate=LAG_RATE, run=SHORT)
    return [*figures, _lag(done), _whole(whole, made)]


def _whole(cpu: float, made: Writes) -> Figure:
    note = f"{made.needed / JOBS:.2f} writes and {made.events / JOBS:.2f} Events; the rest is watching what they cause"
    return Figure("relay CPU per Job until its mirror is removed", cpu, "ms", 6.0, note=note)


def _thousand(ours: RelayProcess, parts: Sequence[Server], load: Helper) -> list[Figure]:
    everyone = [ours, *parts]
    before, calls = [each.cpu() for each in everyone], ours.calls()
    done = load.ask(prefix="fast", count=JOBS)
    own, management, *workers = [
        (each.cpu() - begin) / JOBS * 1e3 for each, begin in zip(everyone, before, strict=True)
    ]
    writes, total = Writes(calls, ours.calls()), own + management + sum(workers) + done["cpu"] / JOBS * 1e3
    middle, most, nearly_all = done["latency"]
    used = total * JOBS / 1e3 / done["seconds"]
    note = (
        f"{used:.1f} cores; creating took {done['creating']:.1f} s of {done['seconds']:.1f} s; "
        f"latency p50 {middle:.1f} s, p95 {most:.1f} s, p99 {nearly_all:.1f} s"
    )
    spent = f"management {management:.1f} ms, workers {sum(workers):.1f} ms, load {done['cpu'] / JOBS * 1e3:.1f} ms"
    return [
        Figure("delegated Jobs from create to Complete, 3 workers", JOBS / done["seconds"], "/s", 100.0, at_least=True,
               note=note),
        Figure("relay CPU per Job until it is Complete", own, "ms", 6.0, note="requests over TLS, watches, decisions"),
        Figure("CPU per Job of all processes", total, "ms", 20.0, note=f"{spent}; 20 ms are 100 Jobs/s on two cores"),
        Figure("relay writes per Job, its mirror kept", writes.needed / JOBS, "", 5.0,
               note=f"and {writes.events / JOBS:.2f} Events so far"),
    ]  # fmt: skip


def _lag(done: dict[str, Any]) -> Figure:
    middle, most, nearly_all = (each * 1e3 for each in done["lag"])
    note = f"p50 {middle:.0f} ms, p95 {most:.0f} ms; counts wait up to 250 ms for more"
    return Figure(f"status lag p99 at {LAG_RATE} Jobs/s", nearly_all, "ms", 500.0, note=note)


def live(folder: pathlib.Path) -> list[Figure]:
    """10,000 Jobs that keep running: the relay's memory, and whether the last Job costs as much as the first."""
    with servers(folder, [["management"], *([name] for name in WORKERS)], "--memory", f"--nodes={NODES}") as parts:
        management, workers = parts[0].clusters[0], [each.clusters[0] for each in parts[1:]]
        with relay(management, workers) as ours, _load(management) as load:
            load.ask(prefix="warm-up", count=WARM_UP)
            small = _each(ours, load, JOBS, prefix="first", run=LONG, until="ready")
            large = _each(ours, load, LIVE - JOBS, prefix="more", run=LONG, until="ready")
            memory = ours.memory() / 1e6
    whole = (small * JOBS + large * (LIVE - JOBS)) / LIVE
    return [
        Figure(
            "relay memory with 10,000 live Jobs", memory, "MB", 250.0, note="original and mirror without managedFields"
        ),
        Figure("relay CPU per Job, 10,000 over 1,000", whole / small, "x", 1.2, note=f"{small:.1f} and {whole:.1f} ms"),
    ]


def many(folder: pathlib.Path) -> list[Figure]:
    """The same Jobs on 2, 3, 20 and 50 workers: the relay's writes and its CPU until their mirrors are removed."""
    names = [f"worker-{number:02d}" for number in range(MANY)]
    with servers(folder, [["management"], names[::2], names[1::2]], "--memory") as parts:
        management, workers = parts[0].clusters[0], [each for part in parts[1:] for each in part.clusters]
        with _load(management) as load:
            cost = {count: _cost(management, workers[:count], load) for count in (3, MANY)}
            writes = {count: _writes(management, workers[:count], load) for count in (2, 20)}
    figures = [
        Figure(f"relay writes per Job, {count} workers", made.needed / FEW, "", 5.0,
               note=f"and {made.events / FEW:.2f} Events; the mirror's removal is among them")
        for count, made in writes.items()
    ]  # fmt: skip
    note = f"{cost[3]:.1f} and {cost[MANY]:.1f} ms"
    return [*figures, Figure(f"relay CPU per Job, {MANY} workers over 3", cost[MANY] / cost[3], "x", 1.2, note=note)]


def _cost(management: Cluster, workers: Sequence[Cluster], load: Helper) -> float:
    """Milliseconds of the relay's CPU per Job, until its mirror is removed and its Events are written."""
    with relay(management, workers, "--keep-finished", KEEP) as ours:
        before = ours.calls()
        load.ask(prefix=f"warm-up-{len(workers)}", count=2 * WARM_UP)
        settle(ours, before, 2 * WARM_UP)
        before, begin = ours.calls(), ours.cpu()
        load.ask(prefix=f"cost-{len(workers)}", count=2 * FEW)
        settle(ours, before, 2 * FEW)
        return (ours.cpu() - begin) / (2 * FEW) * 1e3


def _writes(management: Cluster, workers: Sequence[Cluster], load: Helper) -> Writes:
    """The writes for Jobs until their mirrors are deleted from the workers."""
    with relay(management, workers, "--keep-finished", "1s") as ours:
        before = ours.calls()
        load.ask(prefix=f"writes-warm-up-{len(workers)}", count=WARM_UP)
        settle(ours, before, WARM_UP)
        before = ours.calls()
        load.ask(prefix=f"writes-{len(workers)}", count=FEW)
        return settle(ours, before, FEW)


def hung(folder: pathlib.Path) -> list[Figure]:
    """Two relays at the same time, which share three workers; one has a fourth worker that does not answer."""
    groups = [["with-three"], ["with-hung"], *([name] for name in (*WORKERS, "worker-4"))]
    with servers(folder, groups) as parts:
        three, four, *workers = [each.clusters[0] for each in parts]
        with (
            relay(three, workers[:3]) as one,
            relay(four, workers) as other,
            _load(three) as left,
            _load(four) as right,
        ):
            sides = (("three", one, left), ("four", other, right))
            for name, _, load in sides:
                load.ask(prefix=f"{name}-warm-up", count=WARM_UP)
            with _stopped(parts[-1]):
                rounds = [_side_by_side(sides, number) for number in range(ROUNDS)]
    lost = [1 - bad / good for (good, _), (bad, _) in rounds]
    rates = ", ".join(f"{bad:.0f}/{good:.0f}" for (good, _), (bad, _) in rounds)
    cheap, dear = (statistics.median(side[1] for side in sides) for sides in zip(*rounds, strict=True))
    note = f"rounds {rates} Jobs/s; relay CPU per Job {dear:.1f} and {cheap:.1f} ms; median of {ROUNDS}"
    return [Figure("throughput lost to a hung worker", max(statistics.median(lost), 0.0) * 100, "%", 5.0, note=note)]


def _side_by_side(sides: Sequence[tuple[str, RelayProcess, Helper]], number: int) -> list[tuple[float, float]]:
    """Jobs per second of each relay, and its CPU per Job; those that were sent to the hung worker never end."""
    begin = [ours.cpu() for _, ours, _ in sides]
    for name, _, load in sides:
        load.tell(prefix=f"{name}-{number}", count=ROUND, quiet=QUIET)
    rates = []
    for (_, ours, load), before in zip(sides, begin, strict=True):
        done = load.hear()
        if not done["done"]:
            raise RuntimeError(f"no Job was complete {QUIET:g} s after the last was created")
        rates.append((done["done"] / done["seconds"], (ours.cpu() - before) / done["done"] * 1e3))
    return rates


@contextmanager
def _stopped(part: Server) -> Iterator[None]:
    part.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        part.signal(signal.SIGCONT)


def _each(ours: RelayProcess, load: Helper, count: int, **order: Any) -> float:
    """Milliseconds of the relay's CPU for each of so many Jobs."""
    begin = ours.cpu()
    load.ask(count=count, **order)
    return (ours.cpu() - begin) / count * 1e3


@contextmanager
def _load(management: Cluster, workers: Sequence[Cluster] = ()) -> Iterator[Helper]:
    ways = [text for each in (management, *workers) for text in (each.url, each.kubeconfig)]
    with helper("bench.relayload", str(CLIENTS), *ways) as load:
        load.hear()
        yield load
