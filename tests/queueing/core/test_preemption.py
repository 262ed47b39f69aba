"""Classic preemption: who may preempt whom, who goes first, and that nobody goes without need."""

from __future__ import annotations

import pytest

from jobrelay.queueing.core import PreemptionSpec, Snapshot
from jobrelay.queueing.core.model import PreemptionPolicy
from tests.queueing.core.build import admitted, cohort, decide, holder, messages, preempted, queue, snapshot, workload

WITHIN = PreemptionSpec("LowerPriority")
RECLAIM = PreemptionSpec(reclaim_within_cohort="Any")


@pytest.mark.parametrize(
    ("policy", "priority", "at", "gone"),
    [
        ("Never", 1, 9.0, False),
        ("LowerPriority", 1, 9.0, True),
        ("LowerPriority", 0, 0.0, False),
        ("LowerOrNewerEqualPriority", 0, 0.0, True),
        ("LowerOrNewerEqualPriority", 0, 9.0, False),
    ],
)
def test_the_policy_says_who_may_be_preempted(policy: PreemptionPolicy, priority: int, at: float, gone: bool) -> None:
    on = snapshot([queue("q", 4, preemption=PreemptionSpec(policy))], [holder("old", "q", 4, at=5.0)])
    assert bool(preempted(decide(on, workload("a", "q", 4, priority, at)))) is gone


def test_the_preemptor_waits_for_its_victims() -> None:
    on = snapshot([queue("q", 4, preemption=WITHIN)], [holder("old", "q", 4)])
    decisions = decide(on, workload("a", "q", 2, 1, job_uid="job-a"))
    assert messages(decisions) == {
        "a": "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, "
        "2 more needed. Pending the preemption of 1 workload(s)"
    }
    assert decisions.preemptions[0].message == (
        "Preempted to accommodate a workload (UID: a, JobUID: job-a) due to prioritization in the ClusterQueue; "
        "preemptor path: /q; preemptee path: /q"
    )


def test_victims_that_are_leaving_already_are_not_preempted_again() -> None:
    on = snapshot([queue("q", 4, preemption=WITHIN)], [holder("old", "q", 2), holder("out", "q", 2, 9, evicted=True)])
    decisions = decide(on, workload("a", "q", 2, 10))
    assert preempted(decisions) == {}
    assert decisions.requeues[0].preempting == 1


def test_the_lowest_priority_goes_first_and_of_equals_the_latest_admitted() -> None:
    holders = [holder("early", "q", 1, 1, 1.0), holder("late", "q", 1, 1, 2.0), holder("high", "q", 2, 5)]
    on = snapshot([queue("q", 4, preemption=WITHIN)], holders)
    assert preempted(decide(on, workload("a", "q", 1, 9))) == {"late": "InClusterQueue"}
    assert set(preempted(decide(on, workload("a", "q", 2, 9)))) == {"late", "early"}


def test_only_those_are_preempted_that_are_needed() -> None:
    """The two small ones come first in order, but the large one alone makes enough room."""
    holders = [holder("small", "q", 1, 0), holder("other", "q", 1, 1), holder("large", "q", 3, 2)]
    on = snapshot([queue("q", 5, preemption=WITHIN)], holders)
    assert set(preempted(decide(on, workload("a", "q", 3, 9)))) == {"large"}


def test_nobody_is_preempted_if_it_does_not_help() -> None:
    on = snapshot([queue("q", 4, preemption=WITHIN)], [holder("low", "q", 1), holder("high", "q", 3, 10)])
    decisions = decide(on, workload("a", "q", 2, 5))
    assert preempted(decisions) == {}
    assert decisions.requeues[0].reason == "PreemptionNoCandidates"


def lending(policy: PreemptionSpec, *holders: str) -> Snapshot:
    """Queue `mine` with 4 of 8 CPU; whoever is named holds 4 of them through `theirs`."""
    queues = [queue("mine", 4, "c", preemption=policy), queue("theirs", 4, "c")]
    return snapshot(queues, [holder(each, "theirs", 4, at=number) for number, each in enumerate(holders)])


def test_quota_that_others_have_borrowed_is_reclaimed() -> None:
    decisions = decide(lending(RECLAIM, "first", "second"), workload("a", "mine", 4))
    assert preempted(decisions) == {"second": "InCohortReclamation"}
    assert decisions.preemptions[0].target_path == "/c/theirs"


def test_quota_is_not_reclaimed_beyond_what_was_lent() -> None:
    on = lending(RECLAIM, "only")
    assert admitted(decide(on, workload("a", "mine", 4))) == ["a"]
    assert preempted(decide(on, workload("a", "mine", 5))) == {}


def test_reclaiming_by_priority_spares_equals() -> None:
    policy = PreemptionSpec(reclaim_within_cohort="LowerPriority")
    assert preempted(decide(lending(policy, "x", "y"), workload("a", "mine", 4))) == {}
    assert preempted(decide(lending(policy, "x", "y"), workload("a", "mine", 4, 1))) == {"y": "InCohortReclamation"}


@pytest.mark.parametrize(("threshold", "reason"), [(None, "InCohortReclaimWhileBorrowing"), (-1, None)])
def test_borrow_within_cohort_preempts_while_borrowing(threshold: int | None, reason: str | None) -> None:
    policy = PreemptionSpec("Never", "LowerPriority", "LowerPriority", threshold)
    queues = [queue("mine", 4, "c", preemption=policy), queue("theirs", 0, "c"), queue("lender", 4, "c")]
    decisions = decide(snapshot(queues, [holder("old", "theirs", 8)]), workload("a", "mine", 5, 1))
    assert set(preempted(decisions).values()) == ({reason} if reason else set())


def test_a_subtree_gets_its_quota_back_from_outside_whatever_the_priority_of_borrowing() -> None:
    queues = [
        queue("mine", 1, "team", preemption=RECLAIM),
        queue("sibling", 3, "team"),
        queue("far", 0, "org"),
    ]
    on = snapshot(queues, [holder("old", "far", 4, 10)], [cohort("team", "org"), cohort("org")])
    assert preempted(decide(on, workload("a", "mine", 3))) == {"old": "InCohortReclamation"}


def test_two_heads_do_not_share_a_victim() -> None:
    queues = [queue(each, 2, "c", preemption=RECLAIM) for each in ("a", "b")] + [queue("theirs", 0, "c")]
    on = snapshot(queues, [holder("old", "theirs", 4)])
    decisions = decide(on, workload("x", "a", 2), workload("y", "b", 2, at=1.0))
    assert preempted(decisions) == {"old": "InCohortReclamation"}
    assert messages(decisions)["y"] == "Workload has overlapping preemption targets with another workload"


def test_a_head_that_finds_nobody_to_preempt_keeps_its_queues_quota_free() -> None:
    """The large head of `a` waits; in the same cycle `b` may not borrow what is left of the quota of `a`."""
    queues = [queue("a", 4, "c", preemption=WITHIN), queue("b", 0, "c")]
    on = snapshot(queues, [holder("old", "a", 2, 9)])
    decisions = decide(on, workload("large", "a", 4, 5), workload("small", "b", 2))
    assert admitted(decisions) == []
    assert messages(decisions)["small"] == "Workload no longer fits after processing another workload"


def test_where_everything_can_be_reclaimed_nothing_is_kept_free() -> None:
    policy = PreemptionSpec("LowerPriority", "Any")
    on = snapshot([queue("a", 4, "c", preemption=policy), queue("b", 0, "c")], [holder("old", "a", 2, 9)])
    assert admitted(decide(on, workload("large", "a", 4, 5), workload("small", "b", 2))) == ["small"]


def test_workloads_of_stopped_queues_are_no_candidates() -> None:
    queues = [queue("mine", 4, "c", preemption=RECLAIM), queue("theirs", 0, "c", stop_policy="Hold")]
    on = snapshot(queues, [holder("old", "theirs", 4)])
    assert preempted(decide(on, workload("a", "mine", 4))) == {}
