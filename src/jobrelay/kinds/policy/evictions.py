"""Whether disruption budgets allow that a pod is evicted, and what that takes from them. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from jobrelay.apimachinery.selectors import selector_from_object

Fields = Mapping[str, Any]
CONDITION: Final = "DisruptionAllowed"
MAX_DISRUPTED: Final = 2000


class EvictionRefused(Exception):
    """A budget does not allow an eviction now; `retry` are the seconds after which to ask again, if that is known."""

    def __init__(self, why: str, retry: int = 0) -> None:
        super().__init__(why)
        self.why, self.retry = why, retry


class BudgetUnusable(Exception):
    """A budget whose status makes no sense."""


def needs_budget(pod: Fields) -> bool:
    """Whether evicting a pod can disrupt anything: it runs and is not being deleted."""
    phase = (pod.get("status") or {}).get("phase")
    return phase not in ("Succeeded", "Failed", "Pending") and not pod["metadata"].get("deletionTimestamp")


def budgets_of(pod: Fields, budgets: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The budgets that select a pod."""
    labels = pod["metadata"].get("labels") or {}
    return [budget for budget in budgets if selector_from_object(budget["spec"].get("selector")).matches(labels)]


def take(pod: Fields, budget: Fields, now: str) -> dict[str, Any] | None:
    """The status of a budget after an eviction; None if it stays as it is. Raises EvictionRefused, BudgetUnusable."""
    status: dict[str, Any] = budget.get("status") or {}
    if not _is_ready(pod) and _spares_unhealthy(budget["spec"], status):
        return None
    name = budget["metadata"]["name"]
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise EvictionRefused(f"The disruption budget {name} is still being processed by the server.", retry=10)
    allowed, disrupted = status.get("disruptionsAllowed", 0), status.get("disruptedPods") or {}
    if allowed < 0:
        raise BudgetUnusable("pdb disruptions allowed is negative")
    if len(disrupted) > MAX_DISRUPTED:
        raise BudgetUnusable("DisruptedPods map too big - too many evictions not confirmed by PDB controller")
    if allowed == 0:
        raise EvictionRefused(_why_none(name, status))
    taken = {**status, "disruptionsAllowed": allowed - 1, "disruptedPods": {**disrupted, pod["metadata"]["name"]: now}}
    return taken if allowed > 1 else _used_up(taken, now)


def _is_ready(pod: Fields) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _spares_unhealthy(spec: Fields, status: Fields) -> bool:
    """Whether a pod that is not ready may go without being counted."""
    if spec.get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    desired = status.get("desiredHealthy", 0)
    return bool(status.get("currentHealthy", 0) >= desired > 0)


def _condition(status: Fields) -> Fields:
    return next((one for one in status.get("conditions") or () if one["type"] == CONDITION), {})


def _why_none(name: str, status: Fields) -> str:
    condition, head = _condition(status), f"The disruption budget {name}"
    told = condition.get("message", "") if condition.get("status") == "False" else ""
    if told and condition.get("reason") == "SyncFailed":
        return f"{head} does not allow evicting pods currently because it failed sync: {told}"
    healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    if healthy <= desired:
        return f"{head} needs {desired} healthy pods and has {healthy} currently"
    if told:
        return f"{head} does not allow evicting pods currently ({condition.get('reason', '')}): {told}"
    return f"{head} does not allow evicting pods currently"


def _used_up(status: dict[str, Any], now: str) -> dict[str, Any]:
    before = _condition(status)
    changed = {
        "type": CONDITION, "status": "False", "observedGeneration": status.get("observedGeneration", 0),
        "lastTransitionTime": before.get("lastTransitionTime", now) if before.get("status") == "False" else now,
        "reason": "InsufficientPods", "message": "",
    }  # fmt: skip
    if not changed["observedGeneration"]:
        del changed["observedGeneration"]
    listed = status.get("conditions") or []
    kept = [changed if one["type"] == CONDITION else one for one in listed]
    return {**status, "conditions": kept if before else [*kept, changed]}
