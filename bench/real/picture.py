"""Which bars are drawn of a run."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Final

from bench.real.figures import SHARE
from bench.real.runs import Lives, Runs
from bench.real.svg import Bar, Panel, plot

_COLOURS: Final = {
    "embedded cluster": "#2b6cb0",
    "real cluster": "#7a869e",
    "relay": "#d08a1d",
    "API servers": "#7a869e",
    "etcd": "#a9b4c8",
    "controllers": "#4a5b7c",
    "nodes": "#5aa68f",
}
_PARTS: Final = {
    "jobrelay": "embedded cluster",
    "relay": "relay",
    "kube-apiserver": "API servers",
    "etcd": "etcd",
    "kube-controller-manager": "controllers",
    "nodes": "nodes",
}


def picture(runs: Runs, note: str) -> str:
    """The whole plot."""
    embedded, real, relay = runs.of("embedded"), runs.of("real"), runs.of("relay")
    ceiling = statistics.median(each.rate for each in real)
    plain, alone, delegated = "plain, embedded cluster", "plain, real cluster", "delegated, real clusters"
    panels = [
        Panel(
            "Jobs from create to Complete",
            "Jobs/s",
            [
                _rate(plain, "embedded cluster", embedded),
                _rate(alone, "real cluster", real),
                _rate(delegated, "relay", relay),
            ],
            (f"{SHARE:g} of plain on a real cluster", SHARE * ceiling),
        ),
        Panel("CPU per Job until it is complete", "ms",
              [_cpu(plain, embedded), _cpu(alone, real), _cpu(delegated, relay)], legend=True),
        _pair("Jobs that are only stored", "creates/s", *([each.rate for each in runs.creates if each.kind == kind]
              for kind in ("embedded", "real"))),
        _pair("Start-up of one cluster", "s", *([each.seconds for each in runs.starts if each.kind == kind]
              for kind in ("embedded", "real"))),
        _pair("Memory of one cluster after start-up", "MB", *([sum(each.memory.values()) / 1e6 for each in runs.starts
              if each.kind == kind] for kind in ("embedded", "real"))),
    ]  # fmt: skip
    return plot("jobrelay on real and embedded clusters", note, panels, _COLOURS)


def _rate(label: str, colour: str, lives: Sequence[Lives]) -> Bar:
    rates = [each.rate for each in lives]
    return Bar(label, {colour: statistics.median(rates)}, rates)


def _cpu(label: str, lives: Sequence[Lives]) -> Bar:
    each = {name: statistics.median(run.cpu_each(process) for run in lives) for process, name in _PARTS.items()}
    return Bar(label, {name: value for name, value in each.items() if value})


def _pair(title: str, unit: str, embedded: Sequence[float], real: Sequence[float]) -> Panel:
    sides = {"embedded cluster": embedded, "real cluster": real}
    return Panel(title, unit, [Bar(name, {name: statistics.median(runs)}, runs) for name, runs in sides.items()])
