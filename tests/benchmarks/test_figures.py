"""What figures are made of runs on real clusters."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from bench.real.figures import figures, shares
from bench.real.picture import picture
from bench.real.runs import Creates, Lives, Runs, Start, Written
from bench.report import Figure, table


def lives(kind: str, rate: float, relay_cpu: float = 0.0) -> Lives:
    cpu = {"relay": relay_cpu, "management/kube-apiserver": 1.0, "worker-1/kube-apiserver": 2.0, "worker-1/nodes": 0.5}
    return Lives(kind, 100, 100 / rate, 0.1, (1.0, 2.0, 3.0), cpu, {"relay": 80_000_000}, 400, 1.5 * relay_cpu)


def runs(*rounds: tuple[float, float], relay_cpu: float = 0.5, writes: int = 500) -> Runs:
    found = Runs(written=Written(100, writes, 150), paced=[lives("real", 5), lives("relay", 5)])
    for kind in ("embedded", "real"):
        found.starts.append(Start(kind, 1.0, {"etcd": 40_000_000, "nodes": 60_000_000}))
        found.creates.append(Creates(kind, 100, 0.1))
    for plain, delegated in rounds:
        found.lives += [lives("embedded", 200), lives("real", plain), lives("relay", delegated, relay_cpu)]
    return found


def figure(found: list[Figure], what: str) -> Figure:
    return next(each for each in found if each.what == what)


def test_each_round_is_compared_with_its_own_ceiling() -> None:
    assert shares(runs((50, 25), (100, 30))) == pytest.approx([0.5, 0.3])


def test_the_median_round_decides_on_the_share() -> None:
    assert figure(figures(runs((50, 25), (50, 10), (50, 21))), "share of the ceiling").ok
    assert not figure(figures(runs((50, 25), (50, 10), (50, 19))), "share of the ceiling").ok


def test_cpu_is_counted_by_process_over_all_clusters() -> None:
    one = lives("relay", 50, relay_cpu=0.5)
    assert one.cpu_each("kube-apiserver") == 30.0
    assert one.cpu_each("relay") == 5.0
    assert one.cpu_each() == 40.0


@pytest.mark.parametrize(
    ("what", "worse"),
    [
        ("relay CPU per Job, until complete", {"relay_cpu": 0.61}),
        ("relay CPU per Job, until removed", {"relay_cpu": 0.61}),
        ("relay writes per Job", {"writes": 501}),
    ],
)
def test_more_than_was_promised_is_not_ok(what: str, worse: dict[str, float]) -> None:
    assert figure(figures(runs((50, 25))), what).ok
    assert not figure(figures(runs((50, 25), **worse)), what).ok  # type: ignore[arg-type]


def test_table_and_picture_show_all_of_it() -> None:
    found = runs((50, 25), (60, 30))
    assert table(figures(found)).count("\n") == len(figures(found))
    assert ElementTree.fromstring(picture(found, "note")).tag.endswith("svg")
