"""What an original's status becomes after what its mirror says. Every result is checked against the rules."""

from __future__ import annotations

import pytest

from jobrelay.kube import ProtocolError
from jobrelay.workloads.metadata import queued_mirror

from .jobs import (
    ADAPTER,
    COMPLETE,
    DONE,
    FAILED,
    LOST,
    MET,
    RESUMED,
    SUSPENDED,
    T0,
    T1,
    T2,
    T3,
    T4,
    TARGET,
    Obj,
    after,
    condition,
    job,
    mirror_of,
    objects,
    returned,
    short,
)

INDEXED: Obj = {"completionMode": "Indexed", "completions": 5, "parallelism": 2}
ELASTIC: Obj = INDEXED | {"parallelism": 5}
PER_INDEX: Obj = INDEXED | {"backoffLimitPerIndex": 1}
STOPPING: Obj = {"startTime": T1, "terminating": 1, "conditions": [TARGET | {"reason": "DeadlineExceeded"}]}
RUNNING: Obj = {"startTime": T1, "active": 2, "ready": 1, "terminating": 0}


def test_the_first_status_is_the_mirrors_without_its_bookkeeping() -> None:
    assert after({}, RUNNING | {"uncountedTerminatedPods": {"failed": ["u"]}}, parallelism=2) == RUNNING


def test_the_same_mirror_again_says_nothing_new() -> None:
    original = job(RUNNING, parallelism=2)
    assert returned(original, mirror_of(original, RUNNING | {"uncountedTerminatedPods": {}})) is None


def test_live_numbers_are_the_mirrors() -> None:
    assert after(RUNNING, {"startTime": T1, "active": 1, "ready": 1}) == {"startTime": T1, "active": 1, "ready": 1}


def test_a_mirror_without_status_yet_has_no_pods() -> None:
    assert after(RUNNING, {}) == {"startTime": T1}


def test_ready_pods_are_never_more_than_active_ones() -> None:
    assert after({}, {"startTime": T1, "active": 1, "ready": 2})["ready"] == 1


def test_completion_comes_back_whole() -> None:
    assert after({"startTime": T1, "active": 1}, DONE) == DONE


def test_failure_comes_back_whole() -> None:
    assert after({}, LOST) == LOST


@pytest.mark.parametrize("end", [DONE, LOST])
def test_a_finished_original_never_changes(end: Obj) -> None:
    for seen in ({}, RUNNING, DONE, LOST):
        assert after(end, seen) == end


def test_an_end_is_told_without_pods_even_if_the_worker_still_counts_some() -> None:
    told = after({}, DONE | {"active": 1, "ready": 1, "terminating": 2})
    assert (told.get("active"), told["ready"], told["terminating"]) == (None, 0, 0)


class TestRunAgain:
    """Another worker starts from zero."""

    def test_counters_stay_at_the_furthest_run(self) -> None:
        told = after({"startTime": T1, "succeeded": 3, "failed": 1}, {"startTime": T3, "active": 1, "succeeded": 2})
        assert (told["succeeded"], told["failed"], told["startTime"]) == (3, 1, T1)

    def test_counters_go_on_when_the_new_run_overtakes(self) -> None:
        assert (
            after({"startTime": T1, "succeeded": 3}, {"startTime": T3, "succeeded": 4}, completions=5)["succeeded"] == 4
        )

    def test_completed_indexes_of_all_runs_count(self) -> None:
        told = after({"startTime": T1, "succeeded": 2, "completedIndexes": "0,3"}, {"completedIndexes": "1"}, **INDEXED)
        assert (told["completedIndexes"], told["succeeded"]) == ("0,1,3", 3)

    def test_an_index_that_fails_now_is_not_completed(self) -> None:
        old = {"startTime": T1, "succeeded": 2, "completedIndexes": "0,1", "failedIndexes": ""}
        told = after(old, {"failedIndexes": "1"}, **PER_INDEX)
        assert (told["completedIndexes"], told["failedIndexes"], told["succeeded"]) == ("0", "1", 2)

    def test_a_failed_index_may_be_mended(self) -> None:
        old = {"startTime": T1, "failed": 1, "failedIndexes": "2"}
        told = after(old, {"completedIndexes": "2", "failedIndexes": ""}, **PER_INDEX)
        assert (told["completedIndexes"], told["failedIndexes"], told["failed"]) == ("2", "", 1)

    def test_failed_indexes_stay_until_the_mirror_speaks(self) -> None:
        assert after({"startTime": T1, "failedIndexes": "2"}, {}, **PER_INDEX)["failedIndexes"] == "2"

    def test_completion_is_never_before_the_first_start(self) -> None:
        told = after({"startTime": T3}, DONE)
        assert (told["startTime"], told["completionTime"]) == (T3, T3)

    def test_an_announced_failure_stays_though_the_next_run_succeeds(self) -> None:
        told = after(
            {"startTime": T1, "conditions": [TARGET]},
            DONE | {"conditions": [MET, COMPLETE | {"lastTransitionTime": T4}]},
        )
        assert short(told) == ["FailureTarget=True/BackoffLimitExceeded@02", "Failed=True/BackoffLimitExceeded@04"]
        assert "completionTime" not in told

    def test_an_announced_success_stays_though_the_next_run_fails(self) -> None:
        told = after({"startTime": T1, "conditions": [MET]}, LOST)
        assert short(told) == ["SuccessCriteriaMet=True/CompletionsReached@02", "Complete=True/CompletionsReached@02"]
        assert told["completionTime"] == T2

    def test_a_mirror_made_after_the_announcement_is_not_waited_for(self) -> None:
        old = {"startTime": T0, "conditions": [MET | {"lastTransitionTime": T0}]}
        told = after(old, {"startTime": T1, "active": 1})
        assert short(told)[1:] == ["Complete=True/CompletionsReached@00"]
        assert ("active" in told, told["completionTime"]) == (False, T0)

    def test_a_mirror_made_before_it_is(self) -> None:
        assert len(after({"startTime": T1, "conditions": [MET]}, {"startTime": T1, "active": 1})["conditions"]) == 1

    def test_another_announcement_alone_is_not_told(self) -> None:
        old = {"startTime": T1, "conditions": [MET]}
        assert after(old, {"startTime": T1, "conditions": [TARGET]}) == old


class TestSuspension:
    def test_suspending_keeps_the_start_as_the_mirror_does(self) -> None:
        told = after(RUNNING, {"startTime": T1, "conditions": [SUSPENDED]}, suspend=True)
        assert told == {"startTime": T1, "conditions": [SUSPENDED]}

    def test_a_worker_that_clears_the_start_clears_it(self) -> None:
        assert after({"startTime": T1}, {"conditions": [SUSPENDED]}, suspend=True) == {"conditions": [SUSPENDED]}

    def test_but_not_for_an_original_that_was_resumed_meanwhile(self) -> None:
        assert after({"startTime": T1}, {"conditions": [SUSPENDED]})["startTime"] == T1

    def test_resuming_starts_anew(self) -> None:
        old = {"startTime": T1, "conditions": [SUSPENDED]}
        assert after(old, {"startTime": T2, "active": 1, "conditions": [RESUMED]})["startTime"] == T2

    def test_the_first_start_stays_if_the_suspension_was_never_seen(self) -> None:
        told = after({"startTime": T1}, {"startTime": T2, "conditions": [RESUMED]})
        assert (told["startTime"], short(told)) == (T1, [])

    def test_the_start_by_the_kueue_of_a_worker_is_told(self) -> None:
        original = job({})
        mirror = queued_mirror(
            mirror_of(original, {"startTime": T2, "active": 1, "conditions": [RESUMED]}), "job-train"
        )
        told = returned(original, mirror)
        assert told is not None
        assert told["conditions"] == [RESUMED]

    def test_a_mirror_made_on_resumption_resumes_its_original(self) -> None:
        told = after({"startTime": T1, "conditions": [SUSPENDED]}, {"startTime": T3, "active": 1})
        assert (told["startTime"], short(told)) == (T3, ["Suspended=False/JobResumed@03"])

    def test_a_mirror_that_has_not_started_resumes_nothing(self) -> None:
        old = {"conditions": [SUSPENDED]}
        assert after(old, {}) == old

    def test_a_mirror_that_still_runs_does_not_resume_a_suspended_original(self) -> None:
        original = job({"startTime": T1, "conditions": [SUSPENDED]}, suspend=True)
        told = returned(original, mirror_of(original, {"startTime": T3, "active": 1}, suspend=False))
        assert told is not None
        assert (told["startTime"], told["active"], short(told)) == (T3, 1, ["Suspended=True/JobSuspended@01"])

    def test_nothing_to_do_is_complete_without_a_start(self) -> None:
        seen = {"completionTime": T2, "conditions": [MET, COMPLETE]}
        assert after({}, seen, suspend=True, completions=0) == seen

    def test_unless_the_original_was_resumed_meanwhile(self) -> None:
        seen = {"completionTime": T2, "conditions": [MET, COMPLETE]}
        assert after({}, seen, completions=0) == seen | {"startTime": T2}


class TestScaling:
    def test_an_elastic_job_that_shrinks_counts_less(self) -> None:
        told = after(
            {"startTime": T1, "succeeded": 2, "completedIndexes": "0,4"},
            {"completedIndexes": "0"},
            **ELASTIC | {"completions": 3, "parallelism": 3},
        )
        assert (told["completedIndexes"], told["succeeded"]) == ("0", 1)

    def test_a_mirror_that_does_not_know_it_yet_is_cut(self) -> None:
        told = after(
            {}, {"completedIndexes": "0,2-4", "succeeded": 4}, **ELASTIC | {"completions": 3, "parallelism": 3}
        )
        assert (told["completedIndexes"], told["succeeded"]) == ("0,2", 2)

    def test_without_elasticity_the_count_stays(self) -> None:
        told = after({"startTime": T1, "succeeded": 2, "completedIndexes": "0,4"}, {}, **INDEXED | {"completions": 3})
        assert (told["completedIndexes"], told["succeeded"]) == ("0", 2)


class TestOtherVersions:
    """Workers are of many versions of Kubernetes, and their clocks differ."""

    def test_an_end_without_announcement_gets_one(self) -> None:
        told = after({}, DONE | {"conditions": [COMPLETE]})
        assert told["conditions"] == [MET, COMPLETE]
        assert after({}, LOST | {"conditions": [FAILED]})["conditions"] == [TARGET, FAILED]

    def test_a_clock_that_is_behind_completes_at_the_start(self) -> None:
        assert after({"startTime": T3}, DONE | {"startTime": T0, "completionTime": T1})["completionTime"] == T3

    def test_indexes_are_not_told_where_the_original_has_none(self) -> None:
        assert after({}, {"startTime": T1, "completedIndexes": "0", "failedIndexes": ""}) == {"startTime": T1}

    def test_unknown_fields_of_the_mirror_stay_there_and_those_of_the_original_here(self) -> None:
        assert after({"mine": 1}, {"startTime": T1, "theirs": 2}) == {"mine": 1, "startTime": T1}

    def test_conditions_of_other_types_are_kept_and_copied(self) -> None:
        mine, theirs = condition("Mine"), condition("Theirs")
        assert after({"conditions": [mine]}, {"conditions": [theirs]})["conditions"] == [mine, theirs]

    def test_of_repeated_conditions_the_true_one_counts(self) -> None:
        for repeated in ([condition("Complete", "False"), COMPLETE], [COMPLETE, condition("Complete", "False")]):
            assert after({}, DONE | {"conditions": [MET, *repeated]})["conditions"] == [MET, COMPLETE]

    @pytest.mark.parametrize(
        "nonsense", [{"active": -1}, {"startTime": "soon"}, {"conditions": [1]}, {"failed": 2**40}]
    )
    def test_nonsense_is_not_read(self, nonsense: Obj) -> None:
        original = job()
        with pytest.raises(ProtocolError):
            returned(original, mirror_of(original, nonsense))


class TestLease:
    """A mirror may have a shorter deadline than its user wants."""

    def test_it_is_reckoned_from_the_start_that_is_told_with_it(self) -> None:
        original = job({"startTime": T4}, suspend=True, activeDeadlineSeconds=61)
        status = returned(original, mirror_of(original, STOPPING, suspend=False, activeDeadlineSeconds=59))
        assert status is not None
        assert (status["startTime"], short(status)) == (T1, ["FailureTarget=True/DeadlineExceeded@02"])

    @pytest.mark.parametrize(
        ("users", "told"), [(None, False), (3600, False), (2**63 - 1, False), (60, True), (20, True)]
    )
    def test_only_the_users_own_deadline_is_announced(self, users: int | None, told: bool) -> None:
        original = job(**({} if users is None else {"activeDeadlineSeconds": users}))
        status = returned(original, mirror_of(original, STOPPING, activeDeadlineSeconds=59))
        assert status is not None
        assert ("conditions" in status) is told


class TestSubsets:
    def test_they_get_smaller_and_end_with_counters(self) -> None:
        old = {"startTime": T1, "conditions": [SUSPENDED]}
        seen = {"startTime": T3, "active": 1, "succeeded": 1, "completedIndexes": "1", "conditions": [RESUMED]}
        original = job(old, **INDEXED)
        found = ADAPTER.reduced_statuses(*objects(original, mirror_of(original, seen)))
        assert [sorted(one) for one in found] == [
            ["active", "completedIndexes", "conditions", "startTime", "succeeded"],
            ["active", "conditions", "startTime", "succeeded"],
            ["active", "conditions", "startTime", "succeeded"],
            ["conditions", "startTime", "succeeded"],
            ["active", "conditions", "startTime"],
        ]
        assert [one["startTime"] for one in found] == [T1] * 5

    def test_the_last_word_about_an_end_is_the_end_alone(self) -> None:
        original = job({"startTime": T1})
        found = ADAPTER.reduced_statuses(*objects(original, mirror_of(original, DONE)))
        assert found[0]["conditions"] == [MET, COMPLETE]
        assert {"startTime": T1, "completionTime": T2, "conditions": [MET, COMPLETE]} in found
