"""Which of several workers with room is the best, policy by policy."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from jobrelay.relay.model import WorkerFacts
from jobrelay.relay.placement import PluginScore

from .making import amounts, node, placed, pods, worker


def pair(first: dict[str, Any], second: dict[str, Any]) -> tuple[WorkerFacts, WorkerFacts]:
    """Two workers with room, equal but for these facts."""
    return worker("a", node(), **first), worker("b", node(), **second)


@pytest.mark.parametrize(
    ("policy", "workers", "chosen"),
    [
        ("least-loaded", (worker("a", node(used=2)), worker("b", node(used=1))), "b"),
        ("least-loaded", (worker("a", node(cpu=4)), worker("b", node(cpu=16, used=2))), "b"),
        ("least-loaded", pair({"reserved": amounts(cpu=2)}, {}), "b"),
        ("pack", (worker("a", node(used=1)), worker("b", node(used=2))), "b"),
        ("pack", (worker("a", node(used=1)), worker("b", node(used=4))), "a"),
        ("spread", pair({"live": 3}, {"live": 2}), "b"),
        ("weights", pair({"live": 3, "weight": Fraction(1)}, {"live": 8, "weight": Fraction(4)}), "b"),
        ("weights", pair({"live": 9}, {"weight": Fraction(0)}), "a"),
        ("cost", pair({"cost": Fraction(2)}, {"cost": Fraction(3, 2)}), "b"),
        ("cost", pair({"cost": Fraction(1)}, {}), "b"),
        ("ordered", pair({"live": 9}, {}), "a"),
        ("ordered", (worker("a", node(used=4)), worker("b", node())), "b"),
        ("pending", pair({"pending": 2}, {"pending": 1}), "b"),
        ("cost*3,spread", pair({"cost": Fraction(2)}, {"cost": Fraction(1), "live": 1}), "b"),
        ("cost,spread*3", pair({"cost": Fraction(2)}, {"cost": Fraction(1), "live": 1}), "a"),
    ],
)
def test_the_best_worker_by_policy(policy: str, workers: tuple[WorkerFacts, ...], chosen: str) -> None:
    assert placed(pods(), *workers, policy=policy).chosen == chosen


def test_preferred_workers_go_first_in_their_order() -> None:
    workers = worker("a", node()), worker("b", node(used=2)), worker("c", node(used=3))
    assert placed(pods(), *workers, preferred=("c", "b")).chosen == "c"
    assert placed(pods(2), *workers, preferred=("c", "b")).chosen == "b"
    assert placed(pods(3), *workers, preferred=("c", "b")).chosen == "a"


def test_it_stays_where_it_ran() -> None:
    assert placed(pods(), worker("a", node()), worker("b", node(used=3)), previous="b").chosen == "b"


def test_its_own_preference_goes_before_where_it_ran() -> None:
    assert placed(pods(), *pair({}, {}), previous="b", preferred=("a",)).chosen == "a"


def test_a_policy_may_turn_stickiness_off() -> None:
    workers = worker("a", node()), worker("b", node(used=3))
    assert placed(pods(), *workers, previous="b", policy="least-loaded,sticky*0").chosen == "a"


def test_preferred_node_affinity_counts() -> None:
    term = {"weight": 10, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}}
    wanted = pods(affinity={"preferredDuringSchedulingIgnoredDuringExecution": [term]})
    assert placed(wanted, worker("a", node()), worker("b", node(used=2, labels={"disk": "ssd"}))).chosen == "b"


def test_the_parts_of_a_score_are_told() -> None:
    found = placed(pods(), *pair({"cost": Fraction(2)}, {"cost": Fraction(1)}), policy="least-loaded,cost*2")
    first = found.verdicts[0]
    assert first.parts[-2:] == (PluginScore("least-loaded", 0.75, weight=1), PluginScore("cost", 0.5, weight=2))
    assert (first.score, first.would_change) == (1.75, "a score above that of b: 1.750 against 2.750")


def test_equal_workers_share_evenly() -> None:
    workers = [worker(name, node()) for name in "abc"]
    chosen = Counter(placed(pods(), *workers, seed=f"uid-{i}").chosen for i in range(3000))
    assert all(900 < chosen[name] < 1100 for name in "abc")


def test_taking_turns_is_explained() -> None:
    found = placed(pods(), *pair({}, {}), seed="x")
    told = {verdict.would_change for verdict in found.verdicts}
    assert told == {"", f"nothing: it is as good as {found.chosen}, and equal workers take turns"}
