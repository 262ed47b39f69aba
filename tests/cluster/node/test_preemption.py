"""Which pods are preempted, and on which node."""

from __future__ import annotations

from fractions import Fraction

from jobrelay.cluster.node.nodechoice import choose_node
from jobrelay.cluster.node.nodeinfo import AssignedPod, NodeUsage
from jobrelay.cluster.node.preemption import PreemptionResult, preempt
from jobrelay.kube.objects import Key

from .test_nodechoice import demand, node


def assigned(name: str, priority: int = 0, cpu: str = "2", since: str = "") -> AssignedPod:
    return AssignedPod(Key("default", name), name, "", demand(cpu=cpu), priority, since)


def decide(cpu: str, higher: int = 0, **lower: list[AssignedPod]) -> PreemptionResult:
    """For a pod that wants CPUs of nodes of 4; `higher` is what more important pods hold of each."""
    usage = {name: NodeUsage(1, {"cpu": Fraction(higher)}) for name in lower}
    for name, pods in lower.items():
        for one in pods:
            usage[name].add(one.demand)
    nodes = {name: node(name) for name in lower}
    wanted = demand(cpu=cpu)
    return preempt(wanted, choose_node(wanted, list(nodes.values()), usage), nodes, usage, lower)


def names(found: PreemptionResult) -> list[str]:
    return [victim.key.name for victim in found.victims]


def test_nobody_leaves_in_vain() -> None:
    found = decide("4", higher=1, n=[assigned("a"), assigned("b", cpu="1")])
    assert (found.node, names(found)) == ("", [])
    assert found.why_not == "0/1 nodes are available: 1 Insufficient cpu."


def test_the_least_important_leave() -> None:
    assert names(decide("2", n=[assigned("more", 5), assigned("less", 1)])) == ["less"]


def test_of_equals_the_youngest_leaves() -> None:
    assert names(decide("2", n=[assigned("young", since="2026-01-02"), assigned("old", since="2026-01-01")])) == [
        "young"
    ]


def test_as_few_as_possible_leave() -> None:
    assert names(decide("1", n=[assigned("a"), assigned("b", cpu="1"), assigned("c", cpu="1")])) == ["c"]


def test_the_node_whose_victims_matter_least() -> None:
    assert decide("4", a=[assigned("x", 5, "4")], b=[assigned("y", 1), assigned("z", 1)]).node == "b"


def test_then_the_node_with_fewest_victims() -> None:
    assert decide("4", a=[assigned("x"), assigned("y")], b=[assigned("z", cpu="4")]).node == "b"


def test_where_nobody_is_less_important() -> None:
    assert decide("2", higher=4, n=[]).why_not == (
        "0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )
