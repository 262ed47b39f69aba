"""Ten kinds of workloads beside Jobs alone: what each costs the relay until its mirror is removed.

Both are measured in turns with one relay that follows all kinds, at the same rate. The ten kinds are Jobs and nine
others, whose controllers on the workers are played: one pod and three statuses for each, as a Job has.
"""

from __future__ import annotations

import pathlib
import statistics
from typing import Final, NamedTuple

from bench.process import Helper, helper
from bench.relayfleet import RelayProcess, Writes, relay, servers, settle
from bench.report import Figure

WORKERS: Final = ("worker-1", "worker-2", "worker-3")
ROUNDS: Final = 3
ROUND: Final = 200  # workloads
RATE: Final = 40  # of them a second
KEEP: Final = "10s"  # longer than a round takes, so that mirrors are removed after it
TEN: Final = 10


class _Cost(NamedTuple):
    """What one workload costs the relay."""

    cpu: float
    """In milliseconds."""
    made: Writes
    statuses: float
    """How many statuses its controller wrote, where that is played."""


def mixed(folder: pathlib.Path) -> list[Figure]:
    """Jobs alone and ten kinds, in turns."""
    with servers(folder, [["management"], *([name] for name in WORKERS)]) as parts:
        management, *workers = [each.clusters[0] for each in parts]
        with helper("bench.kindload", *(each.kubeconfig for each in (management, *workers))) as load:
            load.hear()
            with relay(management, workers, "--keep-finished", KEEP) as ours:
                for kinds in (1, TEN):
                    _cost(ours, load, kinds, f"warm-up-{kinds}")
                rounds = [
                    [_cost(ours, load, kinds, f"r{number}-{kinds}") for kinds in (1, TEN)] for number in range(ROUNDS)
                ]
    return _figures(rounds)


def _cost(ours: RelayProcess, load: Helper, kinds: int, prefix: str) -> _Cost:
    before, begin = ours.calls(), ours.cpu()
    done = load.ask(prefix=prefix, count=ROUND, rate=RATE, kinds=kinds)
    made = settle(ours, before, ROUND)
    return _Cost((ours.cpu() - begin) / ROUND * 1e3, made, done["statuses"])


def _figures(rounds: list[list[_Cost]]) -> list[Figure]:
    jobs, ten = (statistics.median(each.cpu for each in kind) for kind in zip(*rounds, strict=True))
    ratio = statistics.median(mix.cpu / alone.cpu for alone, mix in rounds)
    writes = [statistics.median(each.made.needed / ROUND for each in kind) for kind in zip(*rounds, strict=True)]
    statuses = statistics.median(mix.statuses for _, mix in rounds)
    events = statistics.median(mix.made.events / ROUND for _, mix in rounds)
    shown = ", ".join(f"{mix.cpu / alone.cpu:.2f}" for alone, mix in rounds)
    return [
        Figure("relay writes per workload, ten kinds", writes[1], "", 5.0,
               note=f"of {statuses:.1f} statuses on the worker, until its mirror is removed; "
               f"{writes[0]:.2f} for Jobs alone; and {events:.2f} Events"),
        Figure("relay CPU per workload, ten kinds over Jobs", ratio, "x", 1.3,
               note=f"{ten:.1f} and {jobs:.1f} ms until its mirror is removed; rounds {shown}"),
    ]  # fmt: skip
