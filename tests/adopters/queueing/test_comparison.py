"""Recordings, and the list of known differences."""

from __future__ import annotations

import pathlib

import pytest

from . import known, recording
from .known import Known
from .recording import Recorded, agreed
from .scripts import families

ENTRY = Known("a", "b", ["workload *: Evicted"], {"f/s": [1]})


def test_what_runs_disagree_about_is_not_compared() -> None:
    (step,) = agreed([[{"a": "1", "b": "2"}], [{"a": "1", "b": "3", "c": "4"}]])
    assert step == Recorded({"a": "1"}, frozenset({"b", "c"}))
    assert step.differences({"a": "1", "b": "9"}) == []
    assert step.differences({"a": "2", "d": "1"}) == ["a", "d"]


def test_reservations_of_one_time_have_no_order() -> None:
    step = Recorded({"order q": "a+b c"})
    assert step.differences({"order q": "b a+c"}) == []
    assert step.differences({"order q": "a c b"}) == ["order q"]
    assert step.differences({"order q": "a b"}) == ["order q"]
    assert step.differences({}) == ["order q"]


def test_whether_the_pods_of_a_finished_workload_were_seen_ready_is_not_compared() -> None:
    step = Recorded({"workload a: Finished": "True Succeeded", "workload a: PodsReady": "True Started"})
    assert step.differences({"workload a: Finished": "True Succeeded", "workload a: PodsReady": "False"}) == []
    assert Recorded({"workload a: PodsReady": "True"}).differences({}) == ["workload a: PodsReady"]


def test_a_recording_reads_as_it_was_written(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "FOLDER", tmp_path)
    steps = [Recorded({"a": "1", "b": "2"}), Recorded({"a": "1", "c": "3"}, frozenset({"d"})), Recorded({})]
    recording.save("f", {"s": steps})
    assert recording.load("f") == {"s": steps}


def test_a_known_difference_is_no_problem() -> None:
    assert known.problems([ENTRY], {"f/s": [[], ["workload a: Evicted"]]}) == []


def test_another_fact_of_a_known_step_is_told() -> None:
    found = {"f/s": [[], ["workload a: Evicted", "workload a: Admitted"]]}
    assert known.problems([ENTRY], found) == ["not on the list: f/s, step 1: workload a: Admitted"]


def test_an_entry_that_no_longer_differs_is_told() -> None:
    assert known.problems([ENTRY], {"f/s": [[], []]}) == ["no longer differs: f/s, step 1 of the entry 'a'"]
    assert known.problems([ENTRY], {"f/other": [[]]}) == []


def test_known_differences_count_as_differences() -> None:
    assert known.share_equal({"f/s": [[], ["x"]], "f/t": [[], []]}) == 0.75


def test_the_list_names_scripts_that_there_are() -> None:
    there = {f"{family.name}/{script.name}": len(script.steps) for family in families() for script in family.scripts}
    named = [(script, step) for entry in known.load() for script, steps in entry.steps.items() for step in steps]
    assert [each for each in named if each[1] >= there.get(each[0], 0)] == []
