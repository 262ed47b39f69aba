"""Short ways to write queues, workloads and snapshots in tests. CPU is given in whole units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jobrelay.queueing.core import (
    AdmittedWorkload,
    ClusterQueueSpec,
    CohortSpec,
    Config,
    Decisions,
    FlavorQuotas,
    FlavorSpec,
    Head,
    PodSetInfo,
    Quota,
    ResourceGroup,
    Snapshot,
    WorkloadInfo,
    schedule,
)

Amounts = Mapping[str, int | tuple[int, int | None] | tuple[int, int | None, int | None]]
"""By flavor: nominal CPU, then the borrowing and the lending limit where there is one."""


def quota(amount: int | tuple[int | None, ...]) -> Quota:
    nominal, borrowing, lending = (*(amount if isinstance(amount, tuple) else (amount,)), None, None)[:3]
    assert nominal is not None
    return Quota(
        nominal * 1000, None if borrowing is None else borrowing * 1000, None if lending is None else lending * 1000
    )


def cpu(amounts: Amounts) -> tuple[ResourceGroup, ...]:
    """One resource group of CPU."""
    return (ResourceGroup(("cpu",), tuple(FlavorQuotas(name, {"cpu": quota(of)}) for name, of in amounts.items())),)


def queue(name: str, amounts: Amounts | int = 4, cohort: str | None = None, **more: Any) -> ClusterQueueSpec:
    groups = cpu({"default": amounts} if isinstance(amounts, int) else amounts)
    return ClusterQueueSpec(name, groups, cohort, **more)


def cohort(name: str, parent: str | None = None, amounts: Amounts | None = None, weight: float = 1.0) -> CohortSpec:
    return CohortSpec(name, parent, cpu(amounts) if amounts else (), weight)


def workload(name: str, of: str, amount: int = 1, priority: int = 0, at: float = 0.0, **more: Any) -> WorkloadInfo:
    """A workload of one pod."""
    pods = more.pop("pods", (PodSetInfo("main", 1, {"cpu": amount * 1000}),))
    return WorkloadInfo(f"ns/{name}", name, of, pods, priority, at, "ns", **more)


def holder(
    name: str, of: str, amount: int = 1, priority: int = 0, at: float = 0.0, flavor: str = "default", **more: Any
) -> AdmittedWorkload:
    """A workload that holds CPU."""
    usage = {(flavor, "cpu"): amount * 1000}
    return AdmittedWorkload(f"ns/{name}", name, of, usage, priority, at, at, **more)


def snapshot(
    queues: Iterable[ClusterQueueSpec],
    holders: Iterable[AdmittedWorkload] = (),
    cohorts: Iterable[CohortSpec] = (),
    flavors: Iterable[FlavorSpec | str] = ("default",),
) -> Snapshot:
    specs = [FlavorSpec(each) if isinstance(each, str) else each for each in flavors]
    return Snapshot(queues, cohorts, specs, holders, {"ns": {}})


def decide(on: Snapshot, *pending: WorkloadInfo, config: Config | None = None) -> Decisions:
    return schedule(on, [Head(each) for each in pending], 100.0, config, 1)


def admitted(decisions: Decisions) -> list[str]:
    return [each.workload.uid for each in decisions.reservations]


def preempted(decisions: Decisions) -> dict[str, str]:
    return {each.target.uid: each.reason for each in decisions.preemptions}


def messages(decisions: Decisions) -> dict[str, str]:
    return {each.workload.uid: each.message for each in decisions.requeues}
