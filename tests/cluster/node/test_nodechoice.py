from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from jobrelay.cluster.node.nodechoice import choose_node
from jobrelay.cluster.node.nodeinfo import NodeInfo, NodeUsage, PodDemand, pod_demand
from jobrelay.cluster.node.preemption import preempt

PREEMPTION = "no new claims to deallocate, preemption: 0/1 nodes are available: 1"
HOPELESS = f"{PREEMPTION} Preemption is not helpful for scheduling."
NO_VICTIMS = f"{PREEMPTION} No preemption victims found for incoming pod."


def node(
    name: str = "n", *, taints: tuple[dict[str, Any], ...] = (), unschedulable: bool = False, **labels: str
) -> NodeInfo:
    has = {"cpu": Fraction(4), "memory": Fraction(2**30), "pods": Fraction(10)}
    return NodeInfo(name, labels, taints, unschedulable, has)


def demand(*, cpu: str | None = None, **spec: Any) -> PodDemand:
    resources = {"requests": {"cpu": cpu}} if cpu else {}
    return pod_demand({"containers": [{"name": "c", "resources": resources}], **spec})


def affinity(operator: str, *values: str, key: str = "zone") -> dict[str, Any]:
    term = {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def used(cpu: int = 0, pods: int = 0) -> dict[str, NodeUsage]:
    return {"n": NodeUsage(pods, {"cpu": Fraction(cpu)})}


def said(demand: PodDemand, nodes: list[NodeInfo], usage: dict[str, NodeUsage], lower: Any = None) -> str:
    """What a pod that finds no node hears."""
    found = choose_node(demand, nodes, usage)
    instead = preempt(demand, found, {each.name: each for each in nodes}, usage, lower or {})
    return found.message(instead.why_not)


def test_a_pod_goes_where_it_fits() -> None:
    assert choose_node(demand(cpu="1"), [node()], {}).node == "n"


def test_without_nodes_it_says_so() -> None:
    assert choose_node(demand(), [], {}).message() == "no nodes available to schedule pods"


def test_what_is_taken_counts() -> None:
    message = said(demand(cpu="2"), [node()], used(cpu=3))
    assert message == f"0/1 nodes are available: 1 Insufficient cpu. {NO_VICTIMS}"


def test_what_would_never_fit_is_hopeless() -> None:
    assert said(demand(cpu="5"), [node()], {}) == f"0/1 nodes are available: 1 Insufficient cpu. {HOPELESS}"


def test_all_shortages_are_named() -> None:
    message = choose_node(demand(cpu="2"), [node()], used(cpu=3, pods=10)).message()
    assert "1 Insufficient cpu, 1 Too many pods." in message


def test_an_extended_resource_must_exist() -> None:
    wanted = pod_demand({"containers": [{"name": "c", "resources": {"requests": {"nvidia.com/gpu": "1"}}}]})
    assert "1 Insufficient nvidia.com/gpu" in choose_node(wanted, [node()], {}).message()


@pytest.mark.parametrize(
    ("spec", "fits"),
    [
        ({"nodeSelector": {"zone": "a"}}, True),
        ({"nodeSelector": {"zone": "b"}}, False),
        ({"affinity": affinity("In", "a", "b")}, True),
        ({"affinity": affinity("NotIn", "a")}, False),
        ({"affinity": affinity("Exists")}, True),
        ({"affinity": affinity("DoesNotExist")}, False),
        ({"affinity": affinity("Gt", "3", key="size")}, True),
        ({"affinity": affinity("Lt", "3", key="size")}, False),
        ({"affinity": affinity("Gt", "3", key="zone")}, False),
    ],
)
def test_labels_decide(spec: dict[str, Any], fits: bool) -> None:
    assert (choose_node(demand(**spec), [node(zone="a", size="5")], {}).node == "n") is fits


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        ({"key": "k", "operator": "Exists"}, True),
        ({"key": "k", "value": "v", "effect": "NoSchedule"}, True),
        ({"key": "k", "value": "other"}, False),
        ({"key": "k", "value": "v", "effect": "NoExecute"}, False),
        ({"operator": "Exists"}, True),
    ],
)
def test_taints_need_tolerations(toleration: dict[str, Any], fits: bool) -> None:
    tainted = node(taints=({"key": "k", "value": "v", "effect": "NoSchedule"},))
    assert (choose_node(demand(tolerations=[toleration]), [tainted], {}).node == "n") is fits


def test_a_taint_is_told() -> None:
    message = said(demand(), [node(taints=({"key": "k", "effect": "NoExecute"},))], {})
    assert message == f"0/1 nodes are available: 1 node(s) had untolerated taint(s). {HOPELESS}"


def test_a_preferred_taint_does_not_refuse() -> None:
    assert choose_node(demand(), [node(taints=({"key": "k", "effect": "PreferNoSchedule"},))], {}).node == "n"


def test_a_cordoned_node_takes_nothing() -> None:
    assert "1 node(s) were unschedulable" in choose_node(demand(), [node(unschedulable=True)], {}).message()


def test_preferred_labels_win_over_room() -> None:
    preference = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    wanted = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": preference}]}
    nodes = [node("n", zone="a"), node("m", zone="b")]
    assert choose_node(demand(affinity={"nodeAffinity": wanted}), nodes, used(cpu=3)).node == "n"


def test_pods_spread() -> None:
    assert choose_node(demand(), [node("n"), node("m")], used(pods=1)).node == "m"


def test_ports_of_the_host_are_taken_once() -> None:
    wanted = pod_demand({"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]})
    usage = NodeUsage()
    usage.add(wanted)
    assert "1 node(s) didn't have free ports" in choose_node(wanted, [node()], {"n": usage}).message()


def test_init_containers_count_by_their_peak() -> None:
    def needs(cpu: str) -> dict[str, Any]:
        return {"name": "c", "resources": {"requests": {"cpu": cpu}}}

    spec = {"initContainers": [needs("3")], "containers": [needs("1"), needs("1")], "overhead": {"cpu": "500m"}}
    assert dict(pod_demand(spec).requests) == {"cpu": Fraction(7, 2)}
