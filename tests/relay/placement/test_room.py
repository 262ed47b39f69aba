"""Where there is room, and what happens where there is not."""

from __future__ import annotations

from typing import Any

import pytest

from jobrelay.relay.model import Capacity, WorkerFacts
from jobrelay.workloads import PodSet

from .making import amounts, demand, node, placed, pods, said, waits_for_room, worker

SSD = {"disk": "ssd"}
GPU_TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def required(operator: str, *values: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "disk", "operator": operator, "values": list(values)}]}
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}


def test_the_worker_with_room_is_chosen() -> None:
    found = placed(pods(4), worker("full", node(used=2)), worker("free", node()))
    assert found.chosen == "free"
    assert (
        said(found, "full") == "has no room now: needs 4 cpu for 4 pods, 2 of 4 cpu free on 1 node; 2 of 4 pods fit now"
    )


def test_it_waits_here_while_no_worker_has_room() -> None:
    found = placed(pods(4), worker("a", node(used=3)), worker("b", node("m", used=2), node("n", used=4)))
    assert (found.chosen, waits_for_room(found)) == (None, True)
    assert found.sentence == (
        "Waits for room on 2 workers; the nearest is b, which has no room now: "
        "needs 4 cpu for 4 pods, 2 of 8 cpu free on 2 nodes; 2 of 4 pods fit now."
    )
    assert [verdict.would_change for verdict in found.verdicts] == ["room for 3 more pods", "room for 2 more pods"]


def test_what_is_larger_than_every_worker_goes_where_most_pods_fit_now() -> None:
    found = placed(pods(100), worker("a", node(used=3)), worker("b", node(used=1)), worker("c", node(used=4)))
    assert found.chosen == "b"
    assert said(found, "b") == (
        "is too small for all pods at once: needs 100 cpu for 100 pods, 3 of 4 cpu free on 1 node; "
        "3 of 100 pods fit now, 4 if nothing else ran there"
    )


def test_what_is_larger_than_every_worker_waits_while_all_are_full() -> None:
    found = placed(pods(100), worker("a", node(used=4)))
    assert (found.chosen, waits_for_room(found)) == (None, True)


def test_it_waits_for_the_worker_that_can_hold_all_of_it() -> None:
    assert placed(pods(8), worker("small", node()), worker("large", node(cpu=8, used=1))).chosen is None


def test_under_overflow_it_never_waits() -> None:
    found = placed(pods(8), worker("a", node(cpu=8, used=8)), worker("b", node(cpu=8, used=7)), policy="overflow")
    assert found.chosen == "b"


def test_a_pod_too_large_for_every_node_is_refused() -> None:
    found = placed(pods(1, cpu=6), worker("a", node("m"), node("n")))
    assert (found.chosen, waits_for_room(found)) == (None, False)
    assert said(found, "a") == "0/2 nodes are large enough: a pod needs 6 cpu, its largest node has 4 cpu"


def test_pieces_on_many_nodes_hold_no_large_pod() -> None:
    found = placed(pods(1, cpu=3), worker("a", node("m", used=2), node("n", used=2)))
    assert said(found, "a") == (
        "has no room now: needs 3 cpu for 1 pod, 4 of 8 cpu free on 2 nodes, but not in pieces of that size"
    )


def test_the_scarcest_resource_is_named() -> None:
    wanted = PodSet(2, amounts(cpu=1, memory="3Gi"), {})
    found = placed(wanted, worker("a", node(memory="4Gi")))
    assert "needs 6Gi memory for 2 pods, 4Gi of 4Gi memory free on 1 node" in said(found, "a")


def test_pods_that_ask_for_nothing_need_only_places() -> None:
    found = placed(pods(5, cpu=0), worker("a", node(used=4)))
    assert said(found, "a") == "has room: needs 5 pods, 110 of 110 pods free on 1 node"


@pytest.mark.parametrize("unknown", ["", "its nodes may not be read"], ids=["no nodes", "unreadable"])
def test_unknown_room_is_said_and_no_reason_to_refuse(unknown: str) -> None:
    found = placed(pods(1000, cpu=64), worker("a", capacity=Capacity(1, unknown=unknown), pending=1))
    why = unknown or "it lists no nodes"
    assert found.sentence == (
        f"Goes to a, the only worker that could take it; its room is not known ({why}); "
        "1 relayed pod waits for a node there."
    )


def test_of_workers_with_unknown_room_the_one_with_fewer_waiting_pods_wins() -> None:
    assert placed(pods(), worker("a", pending=7), worker("b", pending=2), policy="ordered").chosen == "b"


def test_known_room_goes_before_waiting_pods() -> None:
    assert placed(pods(), worker("a", pending=1), worker("b", node(used=3))).chosen == "b"


@pytest.mark.parametrize(
    ("wanted", "target"),
    [
        (pods(selector={"disk": "ssd"}), node(labels=SSD)),
        (pods(affinity=required("In", "ssd", "nvme")), node(labels=SSD)),
        (pods(affinity=required("Exists")), node(labels=SSD)),
        (pods(tolerations=[{"key": "gpu", "operator": "Exists"}]), node(taints=(GPU_TAINT,))),
    ],
    ids=["selector", "affinity", "exists", "toleration"],
)
def test_a_worker_needs_a_node_that_takes_the_pods(wanted: Any, target: Any) -> None:
    tainted = node(taints=({"key": "other", "effect": "NoExecute"},))
    found = placed(wanted, worker("a", tainted), worker("b", target))
    assert (found.chosen, found.verdicts[0].ok) == ("b", False)


def test_what_nodes_lack_is_named() -> None:
    found = placed(pods(selector={"disk": "ssd"}), worker("a", node(taints=(GPU_TAINT,))))
    assert said(found, "a") == "0/1 nodes take the pods; they want disk=ssd; nodes have taints gpu"


@pytest.mark.parametrize("out", [{"schedulable": False}, {"taints": (NOT_READY,)}], ids=["cordoned", "not ready"])
def test_a_node_out_of_service_is_waited_for(out: dict[str, Any]) -> None:
    found = placed(pods(), worker("a", node(**out)))
    assert waits_for_room(found)
    assert said(found, "a") == "has no room now: 0/1 nodes for these pods are in service"


def test_a_node_may_be_named_by_affinity_fields() -> None:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    assert placed(pods(affinity=affinity), worker("a", node("n1")), worker("b", node("n2"))).chosen == "b"


def reserved(cpu: str, count: int, *nodes: Any) -> WorkerFacts:
    return worker("a", *nodes, reserved=amounts(cpu=cpu, pods=count))


def test_workloads_on_their_way_take_room() -> None:
    found = placed(pods(2), reserved("2.5", 1, node()))
    assert said(found, "a") == (
        "has no room now: needs 2 cpu for 2 pods, 1.5 of 4 cpu free on 1 node after 2.5 cpu for workloads on their way "
        "there; 1 of 2 pods fit now"
    )


def test_a_workload_on_its_way_takes_a_whole_place_of_its_size() -> None:
    two_of_five = node("m", cpu=5), node("n", cpu=5)
    assert placed(pods(1, cpu=3), reserved("3", 1, *two_of_five)).chosen == "a"
    assert placed(pods(2, cpu=3), reserved("3", 1, *two_of_five)).chosen is None


def test_nodes_of_no_use_carry_their_share_of_what_is_on_its_way() -> None:
    special = node("s", labels=SSD)
    assert placed(pods(2, selector={"disk": "ssd"}), reserved("4", 4, special, node("m"), node("n"))).chosen == "a"


def test_pod_sets_share_the_nodes() -> None:
    leader, crew = pods(1, cpu=3), pods(2, cpu=2)
    assert placed(demand(leader, crew), worker("a", node("m"), node("n", used=1))).chosen is None
    assert placed(demand(leader, crew), worker("a", node("m"), node("n"))).chosen == "a"


def test_pod_sets_may_want_different_nodes() -> None:
    on_ssd, anywhere = pods(1, cpu=4, selector={"disk": "ssd"}), pods(1, cpu=4)
    assert placed(demand(anywhere, on_ssd), worker("a", node("m", labels=SSD), node("n"))).chosen == "a"


def test_every_pod_set_needs_a_node_that_takes_it() -> None:
    on_ssd, anywhere = pods(1, selector={"disk": "ssd"}), pods(1)
    found = placed(demand(anywhere, on_ssd), worker("a", node()))
    assert said(found, "a") == "0/1 nodes take the pods; they want disk=ssd"


def test_every_pod_set_needs_a_node_that_is_large_enough() -> None:
    found = placed(demand(pods(1, cpu=1), pods(1, cpu=6)), worker("a", node()))
    assert said(found, "a") == "0/1 nodes are large enough: a pod needs 6 cpu, its largest node has 4 cpu"


def test_a_workload_without_pods_goes_anywhere() -> None:
    assert placed(pods(0), worker("a", node(used=4))).chosen == "a"
