"""What a placer keeps between placements: bounded, gone with the worker, and never shared."""

from __future__ import annotations

import gc
import importlib
import pkgutil
from importlib.metadata import EntryPoint

from jobrelay.relay import placement
from jobrelay.relay.model import NodeFacts, WorkerFacts
from jobrelay.relay.placement import Placement, PlacementRequest, Placer, PolicyPlugins
from jobrelay.relay.placement.nodetotals import NodeResources
from jobrelay.workloads import WorkloadDemand

from .making import demand, node, pods, worker

BROKEN: list[bool] = []


def sometimes(demand: WorkloadDemand, request: PlacementRequest, worker: WorkerFacts) -> float:
    if BROKEN:
        raise LookupError("no price list")
    return 1.0


def placed(placer: Placer, *workers: WorkerFacts, policy: str = "") -> Placement:
    return placer.place(demand(pods()), PlacementRequest(), workers, placer.parse(policy))


def remembered() -> list[NodeFacts]:
    """The nodes that any placer still has added up."""
    gc.collect()
    return [one.node for one in gc.get_objects() if isinstance(one, NodeResources)]


def test_a_worker_that_is_gone_is_forgotten() -> None:
    placer, kept, gone = Placer(), node("kept"), node("gone")
    placed(placer, worker("a", kept), worker("b", gone))
    assert [any(one is each for one in remembered()) for each in (kept, gone)] == [True, True]
    placed(placer, worker("a", kept))
    assert [any(one is each for one in remembered()) for each in (kept, gone)] == [True, False]


def test_a_disabled_plugin_is_disabled_for_its_own_placer_only() -> None:
    points = [EntryPoint("mine", f"{__name__}:sometimes", "jobrelay.placement")]
    first, second = (Placer(PolicyPlugins(points)) for _ in range(2))
    BROKEN.append(True)
    assert placed(first, worker("a", node()), policy="mine").problems
    BROKEN.clear()
    assert placed(first, worker("a", node()), policy="mine").problems
    assert not placed(second, worker("a", node()), policy="mine").problems


def test_placers_do_not_mix_up_workers_of_the_same_name() -> None:
    first, second = Placer(), Placer()
    small, large = worker("a", node(cpu=1, used=1)), worker("a", node(cpu=8))
    assert [placed(first, small).chosen, placed(second, large).chosen, placed(first, small).chosen] == [None, "a", None]


def test_no_module_holds_anything_that_changes() -> None:
    for module in pkgutil.iter_modules(placement.__path__, f"{placement.__name__}."):
        names = vars(importlib.import_module(module.name))
        changeable = [name for name, value in names.items() if isinstance(value, dict | list | set)]
        assert not [name for name in changeable if not name.startswith("__")], module.name
