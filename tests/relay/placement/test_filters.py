"""What keeps a workload from a worker under every policy, and what is said about it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from jobrelay.apimachinery.selectors import parse_label_selector
from jobrelay.relay.claims import choose_claim
from jobrelay.relay.model import Claimant, State

from .making import node, placed, pods, said, worker

LOST = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"state": State.CORDONED}, "it is cordoned"),
        ({"state": State.DRAINING}, "it is draining"),
        ({"state": State.LOST}, "it is declared lost"),
        ({"connected": False}, "it does not answer"),
        (
            {"connected": False, "lost_since": LOST, "reason": "connection refused"},
            "it has not answered since 2030-01-02T03:04:05Z: connection refused",
        ),
        ({"stale": 1}, "a mirror of a workload that moved away has to be stopped there first (1 left)"),
        ({"backlog": 128}, "it has not answered 128 earlier requests yet"),
        ({"unanswered": 3.2}, "it has not answered for 3 s"),
        ({"stale": 3}, "mirrors that moved away have to be stopped there first (3 left)"),
    ],
)
def test_a_worker_that_takes_nothing(facts: dict[str, Any], sentence: str) -> None:
    found = placed(pods(), worker("a", node(), **facts))
    assert (found.chosen, said(found, "a")) == (None, sentence)
    assert found.sentence == f"Waits for a worker that can take it. a: {sentence}."


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"pinned": ("b", "c")}, "the workload may run on b or c only"),
        ({"selector": parse_label_selector("zone in (x, y)")}, "its labels do not match zone in (x,y)"),
        ({"excluded": {"a": "quota exceeded"}}, "it is excluded for this workload: quota exceeded"),
        ({"problem": "bad annotation"}, "the workload's placement annotations are invalid: bad annotation"),
    ],
)
def test_a_worker_that_this_workload_may_not_use(asked: dict[str, Any], sentence: str) -> None:
    found = placed(pods(), worker("a", node(), labels={"zone": "z"}), **asked)
    assert (found.chosen, said(found, "a")) == (None, sentence)
    assert found.verdicts[0].would_change


def test_a_pinned_workload_goes_there_although_others_are_better() -> None:
    assert placed(pods(), worker("a", node()), worker("b", node(used=3)), pinned=("b",)).chosen == "b"


def test_a_selector_chooses_by_the_labels_of_workers() -> None:
    workers = worker("a", node()), worker("b", node(), labels={"zone": "x"})
    assert placed(pods(), *workers, selector=parse_label_selector("zone=x")).chosen == "b"


def test_after_a_refusal_the_next_one_is_tried() -> None:
    found = placed(pods(), worker("a", node()), worker("b", node()), policy="ordered", excluded={"a": "no namespace"})
    assert found.chosen == "b"


def test_pins_that_nobody_answers_to_are_named() -> None:
    found = placed(pods(), worker("a", node()), pinned=("x",))
    assert found.sentence == "Waits for a worker that can take it. x: no worker of this name is registered."


def test_without_workers_it_says_so() -> None:
    assert placed(pods()).sentence == "Waits for a worker: none is registered."


def test_a_problem_is_what_it_waits_for() -> None:
    assert placed(pods(), worker("a"), problem="bad").sentence == "Waits for a correction: bad."


def test_many_refusals_are_counted() -> None:
    found = placed(pods(), *(worker(f"w{i}", connected=False) for i in range(50)))
    assert found.sentence.endswith("w2: it does not answer; and 47 more.")


def test_a_worker_that_is_kept_free_takes_its_claimant_and_higher_priorities() -> None:
    kept = worker("a", node(), kept_for=Claimant("u", "team/large", priority=5))
    other, claimant = placed(pods(), kept, seed="v", priority=5), placed(pods(), kept, seed="u")
    assert said(other, "a") == "it is kept free for team/large, which has waited long"
    assert (other.chosen, claimant.chosen) == (None, "a")
    assert placed(pods(), kept, seed="v", priority=6).chosen == "a"


@pytest.mark.parametrize(("claimed", "expected"), [("", "b"), ("a", "a"), ("gone", "b")])
def test_a_workload_claims_the_worker_that_lacks_least_and_stays_with_it(claimed: str, expected: str) -> None:
    workers = [worker("a", node(used=4)), worker("b", node(used=1)), worker("small", node(cpu=2))]
    found = placed(pods(cpu=4), *workers)
    assert choose_claim(found.trace.candidates, claimed) == expected
