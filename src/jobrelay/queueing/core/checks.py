"""Admission checks: which ones a workload has to pass, and what their states mean for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal

import msgspec

from .model import AdmissionCheckRule

CheckPhase = Literal["Pending", "Ready", "Retry", "Rejected"]


class CheckState(msgspec.Struct, frozen=True):
    """The state of one check of a workload."""

    state: CheckPhase = "Pending"
    message: str = ""
    since: float = 0.0
    retry_after: float | None = None
    """`requeueAfterSeconds`: how long quota stays reserved before a retry evicts the workload."""


class CheckOutcome(msgspec.Struct, frozen=True):
    """What to do with a workload that has quota, by its checks."""

    action: Literal["wait", "admit", "evict", "deactivate"]
    message: str = ""
    at: float | None = None
    """When to look again, for a retry that is delayed."""


def required_checks(rules: Iterable[AdmissionCheckRule], flavors: Collection[str]) -> tuple[str, ...]:
    """The checks for what a workload got. One that got no flavor has nothing to check."""
    return tuple(
        rule.name for rule in rules if flavors and (not rule.on_flavors or not rule.on_flavors.isdisjoint(flavors))
    )


def outcome(required: Iterable[str], states: Mapping[str, CheckState], now: float) -> CheckOutcome:
    """What the states of the required checks mean: a rejection wins over a retry, and either over waiting."""
    named = {name: states.get(name, CheckState()) for name in required}
    rejected = {name: each for name, each in named.items() if each.state == "Rejected"}
    if rejected:
        return CheckOutcome("deactivate", _messages_of(rejected, "Rejected"))
    retried = {name: each for name, each in named.items() if each.state == "Retry"}
    if retried:
        at = max(each.since + (each.retry_after or 0.0) for each in retried.values())
        if at > now:
            return CheckOutcome("wait", at=at)
        return CheckOutcome("evict", f"Evicted due to {_messages_of(retried, 'Retry')}")
    ready = all(each.state == "Ready" for each in named.values())
    return CheckOutcome("admit" if ready else "wait")


def _messages_of(states: Mapping[str, CheckState], state: str) -> str:
    noun = "AdmissionCheck" if len(states) == 1 else "AdmissionChecks"
    parts = [f'"{name}" ({each.message})' if each.message else f'"{name}"' for name, each in sorted(states.items())]
    return f"{noun} in {state} state: {'; '.join(parts)}"
