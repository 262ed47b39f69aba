"""A placement policy of your own, tried out on two workers without a cluster.

In a package of yours, `pyproject.toml` registers the function, and `--placement` may then name it:

    [project.entry-points."jobrelay.placement"]
    green = "my_package.policies:green"
"""

from __future__ import annotations

from fractions import Fraction
from importlib.metadata import EntryPoint

from jobrelay.relay.model import Capacity, NodeFacts, WorkerFacts
from jobrelay.relay.placement import PlacementRequest, Placer, PolicyPlugins, Rejection
from jobrelay.workloads import PodSet, WorkloadDemand

GRAMS_PER_KWH = {"north": 30, "coast": 210, "south": 450}


def green(demand: WorkloadDemand, request: PlacementRequest, worker: WorkerFacts) -> float | Rejection:
    """Prefers clean power, and keeps large workloads off workers without it."""
    grams = GRAMS_PER_KWH.get(worker.labels.get("region", ""), 400)
    pods = sum(pod_set.count for pod_set in demand.pod_sets)
    if grams > 300 and pods > 100:
        return Rejection(f"{pods} pods on {grams} g CO2/kWh", "100 pods or fewer, or cleaner power")
    return 1 - grams / 500


def worker(name: str, region: str, free_cpus: int) -> WorkerFacts:
    has = {"cpu": Fraction(64), "pods": Fraction(110)}
    node = NodeFacts(f"{name}-node", {}, (), has, used={"cpu": Fraction(64 - free_cpus)})
    return WorkerFacts(name, connected=True, labels={"region": region}, capacity=Capacity(1, (node,)))


def main() -> None:
    placer = Placer(PolicyPlugins([EntryPoint("green", f"{__name__}:green", "jobrelay.placement")]))
    policy = placer.parse("least-loaded,green*2")
    demand = WorkloadDemand((PodSet(4, {"cpu": Fraction(1)}, {}),), shape="four small pods")
    workers = [worker("a", "south", 64), worker("b", "north", 32)]
    placement = placer.place(demand, PlacementRequest(), workers, policy)
    print(placement.sentence)
    for verdict in placement.verdicts:
        parts = ", ".join(f"{part.name} {part.raw:.2f}*{part.weight:g}" for part in verdict.parts)
        print(f"{verdict.worker}: {verdict.sentence} [{parts}]")


if __name__ == "__main__":
    main()
