"""Turns runs into figures: the median of the rounds, with the values of all rounds as a note. Pure functions."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from bench.real.runs import Lives, Runs
from bench.report import Figure

SHARE: Final = 0.4
WRITES: Final = 5.0
RELAY_CPU: Final = 6.0
WHOLE_RELAY_CPU: Final = 9.0
_MB: Final = 1e6


def figures(runs: Runs) -> list[Figure]:
    return [*_relay(runs), *_both(runs)]


def shares(runs: Runs) -> list[float]:
    """Delegated Jobs per second over plain ones on one cluster, round by round."""
    return [relay.rate / plain.rate for relay, plain in zip(runs.of("relay"), runs.of("real"), strict=True)]


def _relay(runs: Runs) -> list[Figure]:
    plain, relay, written = runs.of("real"), runs.of("relay"), runs.written
    assert written is not None
    every = relay[0].jobs
    return [
        Figure("ceiling: plain Jobs on one real cluster", _median(_rates(plain)), "/s",
               note=f"{_all(_rates(plain))}; {every} Jobs; {_cpu(plain)}"),
        Figure("delegated Jobs, two real workers", _median(_rates(relay)), "/s",
               note=f"{_all(_rates(relay))}; {every} Jobs; {_cpu(relay)}"),
        Figure("share of the ceiling", _median(shares(runs)), "x", SHARE, at_least=True,
               note=f"{_all(shares(runs))}; each round over the plain Jobs just before it"),
        *_latencies(relay, f"latency, {every} Jobs at once"),
        *_paced(*runs.paced),
        Figure("relay writes per Job", written.needed / written.jobs, "", WRITES,
               note=f"until its mirror is removed; {_kept(relay)} before; {written.events / written.jobs:.2f} Events"),
        Figure("relay CPU per Job, until complete", _median(_each(relay, "relay")), "ms", RELAY_CPU,
               note=_all(_each(relay, "relay"))),
        Figure("relay CPU per Job, until removed", _median(_to_the_end(relay)), "ms", WHOLE_RELAY_CPU,
               note=f"{_all(_to_the_end(relay))}; its mirror removed and all Events written"),
        Figure("relay memory", max(each.memory["relay"] for each in relay) / _MB, "MB",
               note="the largest, right after the Jobs"),
        Figure("CPU per Job of the nodes, plain", _median(_each(plain, "nodes")), "ms",
               note="the same program in both; it stands in for scheduler and kubelet"),
        Figure("CPU per Job of the nodes, delegated", _median(_each(relay, "nodes")), "ms",
               note="both workers together"),
    ]  # fmt: skip


def _latencies(lives: Sequence[Lives], what: str) -> list[Figure]:
    return [
        Figure(f"{what}, {name}", _median(found), "s", note=_all(found))
        for number, name in enumerate(("p50", "p95"))
        for found in ([each.latency[number] for each in lives],)
    ]


def _paced(plain: Lives, relay: Lives) -> list[Figure]:
    return [
        Figure(f"latency, {relay.rate:.0f} Jobs/s, {name}", relay.latency[number], "s",
               note=f"plain Jobs at that rate: {plain.latency[number]:.2f} s")
        for number, name in enumerate(("p50", "p95"))
    ]  # fmt: skip


def _both(runs: Runs) -> list[Figure]:
    found: list[Figure] = []
    for kind in ("embedded", "real"):
        starts = [each for each in runs.starts if each.kind == kind]
        creates = [each.rate for each in runs.creates if each.kind == kind]
        lives = runs.of(kind)
        seconds = [each.seconds for each in starts]
        fresh = [sum(each.memory.values()) / _MB for each in starts]
        used = sum(lives[-1].memory.values()) / _MB
        found += [
            Figure(f"{kind}: start-up", _median(seconds), "s", note=f"{_all(seconds)}; until a node is ready too"),
            Figure(f"{kind}: memory after start-up", _median(fresh), "MB", note=_memory(starts[-1].memory)),
            Figure(f"{kind}: memory after all Jobs", used, "MB", note=_memory(lives[-1].memory)),
            Figure(f"{kind}: creates", _median(creates), "/s", note=_all(creates)),
            Figure(f"{kind}: plain Jobs", _median(_rates(lives)), "/s", note=_all(_rates(lives))),
            Figure(f"{kind}: CPU per plain Job", _median(_whole(lives)), "ms", note=_all(_whole(lives))),
        ]
    return found


def _median(values: Iterable[float]) -> float:
    return statistics.median(values)


def _rates(lives: Iterable[Lives]) -> list[float]:
    return [each.rate for each in lives]


def _each(lives: Iterable[Lives], part: str) -> list[float]:
    return [each.cpu_each(part) for each in lives]


def _to_the_end(lives: Iterable[Lives]) -> list[float]:
    """The relay's milliseconds per Job until its mirror is removed and its Events are written."""
    return [(each.relay_cpu or 0.0) / each.jobs * 1e3 for each in lives]


def _whole(lives: Iterable[Lives]) -> list[float]:
    return [each.cpu_each() - each.cpu_each("load") for each in lives]


def _all(values: Sequence[float]) -> str:
    return "runs " + ", ".join(f"{value:.3g}" if value < 100 else f"{value:,.0f}" for value in values)


def _cpu(lives: Sequence[Lives]) -> str:
    cores = _median(sum(each.cpu.values()) / each.seconds for each in lives)
    return f"{_median(each.cpu_each() for each in lives):.0f} ms CPU each, {cores:.1f} cores busy"


def _kept(lives: Sequence[Lives]) -> str:
    return f"{sum(each.writes or 0 for each in lives) / sum(each.jobs for each in lives):.2f}"


def _memory(memory: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {value / _MB:.0f}" for name, value in memory.items())
