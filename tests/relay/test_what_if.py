"""What-if about workers: the placement decides once more."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from jobrelay.relay.model import Capacity, NodeFacts
from jobrelay.relay.snapshot import WorkloadSnapshot
from jobrelay.relay.what_if import place_with_changes
from tests.relay.snapshots import job, snapshot, worker

SMALL = NodeFacts("n", {}, (), {"cpu": Fraction(2), "memory": Fraction(2**30), "pods": Fraction(10)}, {})


def waiting(cpu: str = "8") -> WorkloadSnapshot:
    container = {"name": "main", "image": "any", "resources": {"requests": {"cpu": cpu}}}
    template: dict[str, Any] = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return snapshot(job(template=template), [worker("a", capacity=Capacity(1, (SMALL,)))])


def test_a_worker_that_is_large_enough_would_take_it() -> None:
    found = place_with_changes(waiting(), ["worker=w4:cpu=64,memory=256Gi"])
    assert (found["placed"], found["changes"]) == ("w4", ["worker=w4:cpu=64,memory=256Gi"])


def test_a_worker_that_is_too_small_would_not() -> None:
    found = place_with_changes(waiting(), ["worker=w4:cpu=4"])
    assert found["placed"] == ""
    assert "cpu" in found["sentence"]


def test_a_worker_that_there_is_gets_one_more_node() -> None:
    assert place_with_changes(waiting(), ["worker=a:cpu=8"])["placed"] == "a"


def test_nothing_is_changed() -> None:
    now = waiting()
    place_with_changes(now, ["worker=a:cpu=8"])
    assert now.place().chosen is None


@pytest.mark.parametrize("text", ["worker=w4", "worker=:cpu=1", "worker=w4:cpu", "worker=w4:cpu=much"])
def test_what_cannot_be_read_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"write .*cpu=64"):
        place_with_changes(waiting(), [text])
