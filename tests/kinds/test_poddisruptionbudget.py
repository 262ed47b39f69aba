"""PodDisruptionBudgets."""

from __future__ import annotations

from .workloads import create, read, texts, update

BUDGET = {"metadata": {"name": "x"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}}
MARK = {"key": "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match", "operator": "Exists"}


def test_counters_start_at_zero() -> None:
    made, errors = create("PodDisruptionBudget", BUDGET)
    assert not errors
    assert made["status"] == {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}


def test_one_limit_only() -> None:
    _, errors = create(
        "PodDisruptionBudget", {"metadata": {"name": "x"}, "spec": {"minAvailable": 1, "maxUnavailable": 1}}
    )
    shown = '{"MinAvailable":1,"Selector":null,"MaxUnavailable":1,"UnhealthyPodEvictionPolicy":null}'
    assert texts(errors) == [f"spec: Invalid value: {shown}: minAvailable and maxUnavailable cannot be both set"]


def test_the_old_match_mark_only_stands_alone() -> None:
    alone = {"metadata": {"name": "x"}, "spec": {"selector": {"matchExpressions": [MARK]}}}
    assert read("PodDisruptionBudget", alone)["spec"]["selector"] == {"matchExpressions": [MARK]}
    mixed = {"metadata": {"name": "x"}, "spec": {"selector": {"matchLabels": {"a": "b"}, "matchExpressions": [MARK]}}}
    assert read("PodDisruptionBudget", mixed)["spec"]["selector"] == {"matchLabels": {"a": "b"}}


def test_status_counters_are_not_negative() -> None:
    made, _ = create("PodDisruptionBudget", BUDGET)
    errors = update("PodDisruptionBudget", made, {"status": {"expectedPods": -1}}, "status")[1]
    assert texts(errors) == ["status.expectedPods: Invalid value: -1: must be greater than or equal to 0"]
