"""Fleet files: what they mean, and what is said about wrong ones."""

from __future__ import annotations

import pathlib
from fractions import Fraction
from typing import Any

import pytest

from jobrelay.planning import PlanError, parse_fleet, read_fleet

from .making import NODE, fleet


def worker(**more: Any) -> dict[str, Any]:
    return {"workers": [{"name": "a", "nodes": [NODE], **more}]}


def test_a_count_makes_several_workers_alike() -> None:
    it = parse_fleet(worker(count=2, labels={"zone": "x"}, cost=2, nodes=[NODE | {"count": 3, "gpu": 1}]))
    assert [one.name for one in it.workers] == ["a-1", "a-2"]
    assert {len(one.nodes) for one in it.workers} == {3}
    assert (it.workers[0].labels, it.workers[0].cost) == ({"zone": "x"}, 2)
    assert (it.total("cpu"), it.total("nvidia.com/gpu")) == (24, 6)


def test_amounts_are_quantities() -> None:
    (one,) = parse_fleet(worker(nodes=[{"cpu": "1500m", "memory": "1Ki"}])).workers
    assert one.nodes[0] == {"cpu": Fraction(3, 2), "memory": 1024, "pods": 110}


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        ({"workers": []}, "has no workers", "add an entry"),
        (worker(cpus=4), "unknown field `cpus`", "did you mean cpu?"),
        (worker(nodes=[{"cpu": "x", "memory": 1}]), r"workers\[0\].nodes\[0\].cpu: 'x' is not a quantity", ""),
        (worker(nodes=[]), r"workers\[0\] has no nodes", "write nodes"),
        (worker(name="A_b"), "'A_b' is not a name of a worker", ""),
        ({"workers": worker()["workers"] * 2}, "two workers named a", "its own name"),
        (worker() | {"outages": [{"worker": "b", "from": 1, "to": 2}]}, "no worker is named 'b'", ""),
        (worker() | {"drains": [{"worker": "a", "from": "2h", "to": "1h"}]}, "ends before it begins", "earlier"),
        (worker() | {"drains": [{"worker": "a", "from": one, "to": one + 2} for one in (1, 2)]}, "overlap", ""),
        (worker() | {"outages": [{"worker": "a", "from": "soon", "to": 2}]}, "'soon' is neither", "from the begin"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(content: Any, message: str, hint: str) -> None:
    with pytest.raises(PlanError, match=message) as found:
        parse_fleet(content)
    assert hint in found.value.hint


def test_outages_and_drains_have_times_from_the_begin() -> None:
    it = fleet("a", outages=[{"worker": "a", "from": "1m", "to": "1h30m", "stops": True}])
    assert [(one.start, one.end, one.stops) for one in it.outages] == [(60, 5400, True)]


def test_a_file_that_is_missing_or_no_yaml_is_an_error(tmp_path: pathlib.Path) -> None:
    (tmp_path / "bad.yaml").write_text("workers: [")
    for name, message in (("gone.yaml", "cannot be read"), ("bad.yaml", "is not YAML")):
        with pytest.raises(PlanError, match=message):
            read_fleet(tmp_path / name)
