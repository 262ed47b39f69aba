"""The statuses of ClusterQueues, LocalQueues, Cohorts and AdmissionChecks: pure functions of what is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from jobrelay.queueing import core
from jobrelay.queueing.conditions import Conditions, with_condition
from jobrelay.queueing.core.amounts import format_amount
from jobrelay.queueing.core.model import FlavorResource
from jobrelay.queueing.queue_conditions import ActiveCondition


@dataclass(slots=True)
class Holdings:
    """What Workloads of a queue hold: how many, and how much of each quota."""

    reserving: int = 0
    admitted: int = 0
    reservation: dict[FlavorResource, int] = field(default_factory=dict)
    usage: dict[FlavorResource, int] = field(default_factory=dict)

    def add(self, holder: core.AdmittedWorkload, *, admitted: bool) -> None:
        self.reserving += 1
        self.admitted += admitted
        for each, amount in holder.usage.items():
            self.reservation[each] = self.reservation.get(each, 0) + amount
            if admitted:
                self.usage[each] = self.usage.get(each, 0) + amount


def queue_status(
    conditions: Conditions, activity: ActiveCondition, holdings: Holdings, pending: int, generation: int, now: datetime
) -> dict[str, Any]:
    """What the statuses of both kinds of queues have in common."""
    shown = with_condition(conditions, "Active", activity.active, activity.reason, activity.message, now, generation)
    return {
        "conditions": msgspec.to_builtins(shown),
        "pendingWorkloads": pending,
        "reservingWorkloads": holdings.reserving,
        "admittedWorkloads": holdings.admitted,
    }


def shown_usage(
    groups: Iterable[core.ResourceGroup], used: Mapping[FlavorResource, int], *, borrowed: bool, alone: bool = False
) -> list[dict[str, Any]]:
    """`flavorsUsage`: for each flavor and resource of a queue what is used, and how much of that is not its own.

    A queue that is `alone` borrows nothing; it uses more than its own when that was reduced.
    """
    shown = []
    for group in groups:
        for flavor in group.flavors:
            resources = []
            for resource in group.resources:
                amount = used.get((flavor.flavor, resource), 0)
                entry = {"name": resource, "total": format_amount(resource, amount)}
                if borrowed:
                    own = flavor.quotas[resource].nominal if resource in flavor.quotas else 0
                    entry["borrowed"] = format_amount(resource, 0 if alone else max(0, amount - own))
                resources.append(entry)
            shown.append({"name": flavor.flavor, "resources": resources})
    return shown


def quota_rows(groups: Iterable[core.ResourceGroup], used: Mapping[FlavorResource, int]) -> list[dict[str, str]]:
    """What a queue has, uses and borrows of each resource in each flavor."""
    return [
        {
            "flavor": flavor.flavor,
            "resource": resource,
            "nominal": format_amount(resource, quota.nominal),
            "used": format_amount(resource, used.get((flavor.flavor, resource), 0)),
            "borrowed": format_amount(resource, max(0, used.get((flavor.flavor, resource), 0) - quota.nominal)),
        }
        for group in groups
        for flavor in group.flavors
        for resource, quota in flavor.quotas.items()
    ]
