"""What comes of the rounds: how many times MultiKueue's rate the relay reaches, and what Jobs cost either way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from bench.multikueue.audit import Write, per_job
from bench.multikueue.rounds import ALONE, BESIDE, MULTIKUEUE, ON_PLAIN, Result, Round
from bench.report import Figure

Results = Mapping[Round, Sequence[Result]]
_TARGETS: Final = {BESIDE: 2.0, ON_PLAIN: 10.0}


def figures(results: Results) -> list[Figure]:
    """The figures of all rounds that were played; of several like ones, the median counts."""
    return [
        *(figure for one, found in results.items() for figure in _own(one, found)),
        *(figure for one in _TARGETS if one in results and MULTIKUEUE in results for figure in _beside(results, one)),
    ]


def _own(one: Round, found: Sequence[Result]) -> list[Figure]:
    shown = [Figure(f"{one.name}: Jobs", _rate(found), "/s"), Figure(f"{one.name}: CPU", _cpu(found), "ms per Job")]
    if one.worker:
        shown.insert(1, Figure(f"{one.name}: until all is removed", _removed(found), "/s"))
        shown += [
            Figure(f"{one.name}: writes", _writes(found), "per Job"),
            Figure(f"{one.name}: writes and Events", _writes(found, events=True), "per Job"),
        ]
    return shown


def _beside(results: Results, one: Round) -> list[Figure]:
    theirs, ours = results[MULTIKUEUE], results[one]
    times = _rate(ours) / _rate(theirs)
    return [
        Figure(f"{one.name}: Jobs", times, "times MultiKueue's", _TARGETS[one], True, _limits(results, one)),
        Figure(f"{one.name}: until all is removed", _removed(ours) / _removed(theirs), "times MultiKueue's"),
        Figure(f"{one.name}: writes", _writes(ours) / _writes(theirs), "of MultiKueue's", 1.0),
    ]


def _limits(results: Results, one: Round) -> str:
    """What no dispatcher could exceed: Kueue's admission, and two cores that do nothing else."""
    by_cpu = 2e3 / _cpu(results[one]) / _rate(results[MULTIKUEUE])
    found = [f"{by_cpu:.1f} by the CPU of all processes on two cores"]
    if ALONE in results:
        found.insert(0, f"{_rate(results[ALONE]) / _rate(results[MULTIKUEUE]):.1f} by Kueue's admission alone")
    return f"at most {', '.join(found)}"


def _rate(found: Sequence[Result]) -> float:
    return median(each.rate for each in found)


def _removed(found: Sequence[Result]) -> float:
    return median(each.jobs / each.cleared for each in found)


def _cpu(found: Sequence[Result]) -> float:
    return median(each.cpu_each for each in found)


def _writes(found: Sequence[Result], *, events: bool = False) -> float:
    """On all clusters, by everybody."""
    return median(per_job(_all(each.writes), each.jobs, events=events) for each in found)


def _all(writes: Mapping[str, Counter[Write]]) -> Counter[Write]:
    return sum(writes.values(), Counter[Write]())
