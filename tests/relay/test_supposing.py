"""Where a workload would be placed with other workers."""

from __future__ import annotations

from fractions import Fraction

import pytest

from jobrelay.relay.model import Capacity, NodeFacts
from jobrelay.relay.snapshot import WorkloadSnapshot
from jobrelay.relay.supposing import split, suppose_workers
from tests.relay.snapshots import job, snapshot, worker


def too_large() -> WorkloadSnapshot:
    """A Job of 8 CPU, and a worker that has two."""
    small = NodeFacts("small", {}, (), {"cpu": Fraction(2), "pods": Fraction(110)}, {})
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "8"}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    return snapshot(job(template=template), [worker("a", capacity=Capacity(1, (small,)))])


def test_a_worker_that_would_have_room_is_where_it_would_be_placed() -> None:
    found = too_large()
    assert found.place().chosen is None
    supposed = suppose_workers(found, ["worker=w4:cpu=64"])
    assert (supposed["worker"], supposed["changes"]) == ("w4", ("worker=w4:cpu=64",))
    assert "w4" in supposed["sentence"]
    assert found.place().chosen is None


def test_one_that_is_too_small_or_lacks_a_resource_does_not_help() -> None:
    found = too_large()
    for text in ("worker=w4:cpu=4", "worker=w4:memory=64Gi"):
        assert suppose_workers(found, [text])["worker"] == ""


def test_a_worker_that_there_is_can_be_supposed_to_be_larger() -> None:
    found = too_large()
    assert suppose_workers(found, ["worker=a:cpu=16,memory=64Gi"])["worker"] == "a"


@pytest.mark.parametrize("text", ["worker=", "worker=w4", "worker=w4:", "worker=w4:cpu", "worker=w4:cpu=lots"])
def test_what_cannot_be_read_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="write worker=NAME:RESOURCE=AMOUNT"):
        suppose_workers(snapshot(job(), [worker("a")]), [text])


def test_changes_of_workers_are_told_from_those_of_quotas() -> None:
    assert split(["quota.cpu=+1", "worker=a:cpu=1"]) == {True: ["worker=a:cpu=1"], False: ["quota.cpu=+1"]}
