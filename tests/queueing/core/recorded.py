"""Scenarios that were played to Kueue 0.19.2, as values of our model. In them CPU is in whole units."""

from __future__ import annotations

import json
import pathlib
from typing import Any, Final

from jobrelay.queueing.core import (
    AdmittedWorkload,
    ClusterQueueSpec,
    CohortSpec,
    Config,
    FairSharing,
    FlavorFungibility,
    FlavorQuotas,
    FlavorSpec,
    PodSetInfo,
    PreemptionSpec,
    Quota,
    ResourceGroup,
    Snapshot,
    WorkloadInfo,
)
from jobrelay.queueing.core.amounts import amount

FOLDER: Final = pathlib.Path(__file__).with_name("golden")
Recorded = dict[str, Any]


def read(name: str) -> list[Recorded]:
    """The scenarios of a file, one on each line, with Kueue's answers."""
    return [json.loads(line) for line in (FOLDER / name).read_text().splitlines()]


def config(recorded: Recorded) -> Config:
    return Config(fair_sharing=FairSharing() if recorded["fair"] else None)


def snapshot(recorded: Recorded) -> Snapshot:
    queues = [_queue(each) for each in recorded["queues"]]
    cohorts = [
        CohortSpec(each["name"], each["parent"], _groups(each["groups"]), _weight(each["weight"]))
        for each in recorded["cohorts"]
    ]
    holders = [_holder(each) for each in recorded["holders"]]
    return Snapshot(queues, cohorts, [FlavorSpec(name) for name in recorded["flavors"]], holders)


def workloads(recorded: Recorded) -> list[WorkloadInfo]:
    return [
        WorkloadInfo(
            f"default/{each['name']}",
            each["name"],
            each["queue"],
            tuple(
                PodSetInfo(pods["name"], pods["count"], _amounts(pods["req"]), pods.get("min"))
                for pods in each["podsets"]
            ),
            each["priority"],
            float(each["created"]),
        )
        for each in recorded["heads"]
    ]


def _queue(each: Recorded) -> ClusterQueueSpec:
    fungibility = FlavorFungibility(each["fb"], each["fp"], each["pref"] or "BorrowingOverPreemption")
    preemption = PreemptionSpec(each["within"], each["reclaim"], each["borrow"] or "Never", each["threshold"])
    return ClusterQueueSpec(
        each["name"],
        _groups(each["groups"]),
        each["cohort"],
        each["strategy"],
        fungibility=fungibility,
        preemption=preemption,
        weight=_weight(each["weight"]),
    )


def _holder(each: Recorded) -> AdmittedWorkload:
    usage = {(each["flavor"], name): of for name, of in _amounts(each["requests"]).items()}
    key, name = f"default/{each['name']}", each["name"]
    created, reserved = float(each["created"]), float(each["reserved"])
    return AdmittedWorkload(key, name, each["queue"], usage, each["priority"], created, reserved, each["evicted"])


def _groups(groups: list[Recorded]) -> tuple[ResourceGroup, ...]:
    return tuple(
        ResourceGroup(
            tuple(group["coveredResources"]),
            tuple(
                FlavorQuotas(flavor["name"], {one["name"]: _quota(one) for one in flavor["resources"]})
                for flavor in group["flavors"]
            ),
        )
        for group in groups
    )


def _quota(one: Recorded) -> Quota:
    found = {key: amount(one["name"], str(value)) for key, value in one.items() if key != "name"}
    return Quota(found["nominalQuota"], found.get("borrowingLimit"), found.get("lendingLimit"))


def _amounts(requests: dict[str, int]) -> dict[str, int]:
    return {name: amount(name, str(value)) for name, value in requests.items()}


def _weight(text: str) -> float:
    return amount("cpu", text) / 1000
