"""Capacity from watch events of nodes and pods."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.kube import Object
from jobrelay.kube.object_index import ObjectIndex
from jobrelay.kube.objects import decode_object, encode
from jobrelay.relay.model import Capacity
from jobrelay.relay.placement import CapacityTracker
from jobrelay.relay.placement.capacity import POD_OWNER


def node(name: str = "n1", cpu: str = "4", version: int = 1, **spec: Any) -> Object:
    metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": str(version), "labels": {"zone": "x"}}
    return decode_object(encode({"metadata": metadata, "spec": spec, "status": {"allocatable": {"cpu": cpu}}}))


def pod(name: str = "p", node: str = "n1", cpu: str = "1", phase: str = "Running", **more: Any) -> Object:
    metadata = {"name": name, "namespace": "d", "uid": f"uid-{name}", "labels": {POD_OWNER: more.pop("job", "j")}}
    metadata |= more.pop("metadata", {})
    spec = {"nodeName": node, "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}], **more}
    return decode_object(encode({"metadata": metadata, "spec": spec, "status": {"phase": phase}}))


@pytest.fixture
def tracker() -> CapacityTracker:
    made = CapacityTracker()
    made.node(None, node())
    made.known()
    return made


def used(tracker: CapacityTracker) -> dict[str, Fraction]:
    return dict(tracker.snapshot().nodes[0].used)


def test_until_all_is_read_the_room_is_unknown() -> None:
    tracker = CapacityTracker()
    tracker.node(None, node())
    assert tracker.snapshot() == Capacity(1, (), "it has not been read yet")
    tracker.known()
    assert tracker.snapshot().nodes


def test_room_may_become_unknown_again(tracker: CapacityTracker) -> None:
    before = tracker.snapshot()
    tracker.known("pods may not be read")
    after = tracker.snapshot()
    assert (after.nodes, after.unknown) == ((), "pods may not be read")
    assert after.version > before.version


def test_a_node_as_it_is(tracker: CapacityTracker) -> None:
    taint = {"key": "k", "effect": "NoSchedule"}
    tracker.node(node(), node(cpu="3500m", unschedulable=True, taints=[taint]))
    (found,) = tracker.snapshot().nodes
    assert (found.name, found.labels, found.taints) == ("n1", {"zone": "x"}, (taint,))
    assert (found.allocatable, found.used, found.schedulable) == ({"cpu": Fraction(7, 2)}, {}, False)


def test_a_bound_pod_counts_until_it_ends(tracker: CapacityTracker) -> None:
    tracker.pod(None, pod(node=""))
    assert used(tracker) == {}
    tracker.pod(pod(node=""), pod(phase="Pending"))
    assert used(tracker) == {"cpu": 1, "pods": 1}
    tracker.pod(pod(phase="Pending"), pod(phase="Succeeded"))
    assert used(tracker) == {}


def test_a_deleted_pod_gives_its_room_back(tracker: CapacityTracker) -> None:
    tracker.pod(None, pod("p", cpu="1"))
    tracker.pod(None, pod("q", cpu="500m"))
    tracker.pod(pod("p", cpu="1"), None)
    assert used(tracker) == {"cpu": Fraction(1, 2), "pods": 1}


def test_a_pod_that_is_being_deleted_still_counts(tracker: CapacityTracker) -> None:
    tracker.pod(None, pod(metadata={"deletionTimestamp": "2030-01-01T00:00:00Z"}))
    assert used(tracker)["pods"] == 1


def test_a_resized_pod_counts_anew(tracker: CapacityTracker) -> None:
    tracker.pod(None, pod(metadata={"generation": 1}))
    tracker.pod(None, pod(cpu="2", metadata={"generation": 2}))
    assert used(tracker)["cpu"] == 2


def test_pods_may_be_seen_before_their_node(tracker: CapacityTracker) -> None:
    tracker.pod(None, pod(node="n2"))
    tracker.node(None, node("n2"))
    assert [dict(one.used) for one in tracker.snapshot().nodes] == [{}, {"cpu": 1, "pods": 1}]


def test_a_node_that_is_gone_has_no_room(tracker: CapacityTracker) -> None:
    tracker.node(node(), None)
    assert tracker.snapshot().nodes == ()


def test_nothing_new_is_the_same_snapshot(tracker: CapacityTracker) -> None:
    before = tracker.snapshot()
    tracker.node(node(), node(version=2))
    tracker.pod(None, pod(node=""))
    assert tracker.snapshot() is before


def test_only_nodes_that_changed_are_new(tracker: CapacityTracker) -> None:
    tracker.node(None, node("n2"))
    before = tracker.snapshot()
    tracker.pod(None, pod(node="n2"))
    after = tracker.snapshot()
    assert after.version == before.version + 1
    assert [new is old for new, old in zip(after.nodes, before.nodes, strict=True)] == [True, False]


def test_pods_that_wait_are_counted_by_job(tracker: CapacityTracker) -> None:
    for name, job in [("a", "j1"), ("b", "j1"), ("c", "j2")]:
        tracker.pod(None, pod(name, node="", phase="Pending", job=job))
    tracker.pod(None, pod("d", node="", phase="Pending", job="j1", schedulingGates=[{"name": "wait"}]))
    tracker.pod(None, pod("e", job="j1"))
    assert (tracker.pending({"j1"}), tracker.pending(), tracker.bound("j1")) == (2, 3, 1)


def test_a_pod_that_got_its_node_waits_no_more(tracker: CapacityTracker) -> None:
    tracker.pod(None, pod(node="", phase="Pending"))
    tracker.pod(None, pod())
    assert (tracker.pending(), tracker.bound("j")) == (0, 1)


@pytest.mark.parametrize("cpu", ["much", [], None])
def test_nonsense_counts_for_nothing(tracker: CapacityTracker, cpu: Any) -> None:
    tracker.pod(None, pod(cpu=cpu))
    tracker.node(None, node("n2", cpu=cpu))
    assert ([one.name for one in tracker.snapshot().nodes], used(tracker)) == (["n1"], {})


PODS = st.builds(
    pod,
    st.sampled_from("pqr"),
    node=st.sampled_from(["", "n1"]),
    phase=st.sampled_from(["Pending", "Running", "Failed"]),
    metadata=st.integers(1, 10_000).map(lambda version: {"resourceVersion": str(version)}),
)


@given(st.lists(st.one_of(PODS, st.sampled_from("pqr"))))
def test_the_sums_are_those_of_the_pods_that_are_left(steps: list[Object | str]) -> None:
    store, tracker = ObjectIndex(), CapacityTracker("")
    tracker.node(None, node())
    store.subscribe(tracker.pod)
    for step in steps:
        if isinstance(step, str):
            store.discard(pod(step).key)
        else:
            store.put(step)
    views = [one.decode() for one in store]
    living = [one for one in views if one["status"]["phase"] != "Failed"]
    bound = sum(1 for one in living if one["spec"]["nodeName"])
    assert used(tracker).get("cpu", 0) == bound == tracker.bound("j")
    assert tracker.pending() == len(living) - bound


def test_each_pod_is_told_once_when_it_is_bound(tracker: CapacityTracker) -> None:
    told: list[tuple[str, dict[str, Fraction]]] = []
    tracker.subscribe(lambda owner, requests: told.append((owner, dict(requests))))
    waiting, bound, running = pod(node="", phase="Pending"), pod(phase="Pending"), pod()
    tracker.pod(None, waiting)
    assert told == []
    tracker.pod(waiting, bound)
    tracker.pod(bound, running)
    assert told == [("j", {"cpu": Fraction(1), "pods": Fraction(1)})]
