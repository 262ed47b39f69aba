"""Workers, nodes and demands for the tests of placement, in few words."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from jobrelay.apimachinery import quantity
from jobrelay.relay.model import Capacity, NodeFacts, WorkerFacts
from jobrelay.relay.placement import Placement, Wish, parse_policy, place
from jobrelay.workloads import Demand, PodSet

UNREADABLE = Capacity(1, unknown="its nodes may not be read")


def amounts(**texts: str | int) -> dict[str, Fraction]:
    return {name: quantity.number(str(text)) for name, text in texts.items()}


def node(name: str = "n", cpu: str | int = 4, used: str | int = 0, *, memory: str = "8Gi", **facts: Any) -> NodeFacts:
    has = amounts(cpu=cpu, memory=memory, pods=110)
    return NodeFacts(name, facts.pop("labels", {}), facts.pop("taints", ()), has, amounts(cpu=used), **facts)


def worker(name: str, *nodes: NodeFacts, **facts: Any) -> WorkerFacts:
    facts.setdefault("capacity", Capacity(1, nodes) if nodes else UNREADABLE)
    return WorkerFacts(name, facts.pop("connected", True), **facts)


def pods(count: int = 1, cpu: str | int = 1, *, selector: Mapping[str, str] | None = None, **where: Any) -> PodSet:
    return PodSet(count, amounts(cpu=cpu) if cpu else {}, selector or {}, **where)


def demand(*sets: PodSet) -> Demand:
    return Demand(sets, shape=repr(sets))


def placed(wanted: PodSet | Demand, *workers: WorkerFacts, policy: str = "", **wish: Any) -> Placement:
    whole = wanted if isinstance(wanted, Demand) else demand(wanted)
    return place(whole, Wish(**wish), workers, parse_policy(policy))


def said(placement: Placement, name: str) -> str:
    return next(verdict.sentence for verdict in placement.verdicts if verdict.worker == name)
