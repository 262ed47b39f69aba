"""What figures are made of rounds beside Kueue."""

from __future__ import annotations

from collections import Counter

from bench.multikueue.audit import Write
from bench.multikueue.figures import figures
from bench.multikueue.rounds import ALONE, BESIDE, MULTIKUEUE, ON_PLAIN, Result
from bench.report import Figure


def result(rate: float, writes: int = 40, cpu: float = 200.0) -> Result:
    """A round of 100 Jobs with so many writes each, half of them on the worker, and CPU in milliseconds each."""
    each = Counter({Write("kueue", "patch", "jobs"): writes * 50, Write("kueue", "create", "events"): 100})
    return Result(100, 100 / rate, 200 / rate, {"kueue": cpu / 10}, {"management": each, "worker": each}, 0)


def find(found: list[Figure], what: str, unit: str) -> Figure:
    return next(figure for figure in found if (figure.what, figure.unit) == (what, unit))


def test_the_relay_is_compared_with_multikueue_in_the_same_run() -> None:
    found = figures({MULTIKUEUE: [result(1)], BESIDE: [result(2)], ON_PLAIN: [result(9)], ALONE: [result(12)]})
    assert find(found, f"{BESIDE.name}: Jobs", "times MultiKueue's").ok
    plain = find(found, f"{ON_PLAIN.name}: Jobs", "times MultiKueue's")
    assert (plain.value, plain.ok) == (9, False)
    assert plain.note == "at most 12.0 by Kueue's admission alone, 10.0 by the CPU of all processes on two cores"


def test_writes_on_all_clusters_must_not_be_more_than_multikueues() -> None:
    found = figures({MULTIKUEUE: [result(1, 40)], BESIDE: [result(2, 44)], ON_PLAIN: [result(9, 30)]})
    assert not find(found, f"{BESIDE.name}: writes", "of MultiKueue's").ok
    assert find(found, f"{ON_PLAIN.name}: writes", "of MultiKueue's").ok
    assert find(found, f"{ON_PLAIN.name}: writes and Events", "per Job").value == 32


def test_of_several_rounds_the_median_counts() -> None:
    found = figures({ON_PLAIN: [result(1), result(9), result(5)]})
    assert find(found, f"{ON_PLAIN.name}: Jobs", "/s").value == 5
    assert find(found, f"{ON_PLAIN.name}: until all is removed", "/s").value == 2.5
