"""What statuses of the declared kinds mean, and how they are returned, by the steps in `kinds/`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jobrelay.kube import Object
from jobrelay.workloads import Urgency, Workload
from jobrelay.workloads.builtin import built_in_descriptions

from .declared_kinds import ADAPTERS, KINDS, NOW, Obj, as_object, at, case, mirror, original

FINITE = [kind for kind in KINDS if "failure" in case(kind)]
STEPS = [(kind, number) for kind in KINDS for number in range(len(case(kind)["steps"]))]
SUSPENSIONS = {kind.lower(): found.suspension for kind, found in built_in_descriptions().items()}


def state(facts: Workload) -> str:
    if facts.end is not None:
        return "succeeded" if facts.end.succeeded else "failed"
    return "started" if facts.started is not None else "waiting"


def returned(kind: str, old: Obj | None, seen: Obj | None, **metadata: Any) -> Obj | None:
    return ADAPTERS[kind].merged_status(as_object(original(kind, old)), as_object(mirror(kind, seen, **metadata)))


@pytest.mark.parametrize(("kind", "number"), STEPS)
def test_what_a_step_means(kind: str, number: int) -> None:
    step = case(kind)["steps"][number]
    facts = ADAPTERS[kind].read(as_object(mirror(kind, step.get("status"))))
    assert state(facts) == step.get("is", "waiting")
    if facts.end is not None:
        assert (facts.end.at is not None, facts.end.reason) == (True, step["reason"])


@pytest.mark.parametrize("kind", KINDS)
def test_every_step_comes_back_as_it_is_and_once(kind: str) -> None:
    old: Obj | None = None
    for step in case(kind)["steps"]:
        seen = step.get("status")
        if seen is None:
            assert returned(kind, old, seen) is None
            continue
        assert returned(kind, old, seen) == seen
        assert returned(kind, seen, seen) is None
        old = seen


@pytest.mark.parametrize("kind", FINITE)
def test_a_failure_is_one(kind: str) -> None:
    end = ADAPTERS[kind].read(as_object(mirror(kind, case(kind)["failure"]))).end
    assert end is not None
    assert (end.succeeded, end.reason != "", end.at is not None) == (False, True, True)


@pytest.mark.parametrize("kind", FINITE)
def test_an_end_is_final(kind: str) -> None:
    done = next(step["status"] for step in case(kind)["steps"] if step.get("is") == "succeeded")
    running = next(step["status"] for step in case(kind)["steps"] if step.get("is") == "started")
    assert returned(kind, done, case(kind)["failure"]) is None
    assert returned(kind, done, running) is None
    assert returned(kind, case(kind)["failure"], done) is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_mirror_that_is_being_deleted_says_nothing_new(kind: str) -> None:
    running = next(step["status"] for step in case(kind)["steps"] if step.get("is") == "started")
    assert returned(kind, None, running, deletionTimestamp="2026-01-01T12:06:00Z") is None


@pytest.mark.parametrize("kind", FINITE)
def test_an_end_counts_although_the_mirror_is_being_deleted(kind: str) -> None:
    failure = case(kind)["failure"]
    assert returned(kind, None, failure, deletionTimestamp="2026-01-01T12:06:00Z") == failure


def test_nulls_are_no_difference() -> None:
    """Tekton writes some, which a merge patch cannot carry."""
    tasks = {"tasks": [{"name": "a", "taskSpec": {"spec": None, "steps": []}}]}
    seen = {"startTime": "2026-01-01T12:00:00Z", "pipelineSpec": tasks, "x": None}
    new = returned("pipelinerun", None, seen)
    assert new == {
        "startTime": "2026-01-01T12:00:00Z", "pipelineSpec": {"tasks": [{"name": "a", "taskSpec": {"steps": []}}]},
    }  # fmt: skip
    assert returned("pipelinerun", new, seen) is None


def test_an_appwrapper_that_ended_is_not_terminating_when_its_copy_is_deleted() -> None:
    done = case("appwrapper")["steps"][-1]["status"]
    assert returned("appwrapper", done, done | {"phase": "Terminating"}) is None


def test_counters_move_on_after_the_end() -> None:
    *_, first, last = [step.get("status") for step in case("pytorchjob")["steps"]]
    assert returned("pytorchjob", first, last) == last


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_new_after_the_end_of_any_kind_is_returned(kind: str) -> None:
    if (failed := case(kind).get("failure")) is not None:
        assert returned(kind, failed, failed | {"more": 1}) == failed | {"more": 1}


@pytest.mark.parametrize(
    ("kind", "counter"), [("jobset", "restarts"), ("rayjob", "failed"), ("appwrapper", "resettingCount")]
)
def test_a_second_run_takes_no_counter_back(kind: str, counter: str) -> None:
    running = next(step["status"] for step in case(kind)["steps"] if step.get("is") == "started")
    again = {key: value for key, value in running.items() if key != counter}
    new = returned(kind, running | {counter: 3}, again | {"x": 1})
    assert new is not None
    assert new[counter] == 3
    assert returned(kind, new, again | {"x": 1}) is None


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_a_mirror_says_is_returned_once_and_ends_stay(kind: str) -> None:
    """Any status may follow any other: workers are lost, watches lag, and someone may write what they like."""
    known = [step.get("status") for step in case(kind)["steps"]] + [case(kind).get("failure"), {"odd": [1]}]
    for old in known:
        before = ADAPTERS[kind].read(as_object(original(kind, old)))
        for seen in known:
            new = returned(kind, old, seen)
            if new is None:
                continue
            assert returned(kind, new, seen) is None
            after = ADAPTERS[kind].read(as_object(original(kind, new)))
            assert before.end is None or state(before) == state(after)


@pytest.mark.parametrize("kind", KINDS)
def test_a_suspended_original_shows_it(kind: str) -> None:
    rule = SUSPENSIONS[kind]
    assert rule is not None
    suspended = original(kind, change=at(rule.path, rule.suspended))
    status = ADAPTERS[kind].suspended_status(as_object(suspended), NOW)
    assert ADAPTERS[kind].suspended_status(as_object(original(kind)), NOW) is None
    if kind == "rayservice":
        assert status is None  # KubeRay shows nothing of the kind
        return
    assert status is not None
    shown = as_object(suspended | {"status": status})
    facts = ADAPTERS[kind].read(shown)
    assert (facts.started, facts.end) == (None, None)
    assert facts.halted == (rule.halted != () and kind != "raycluster")
    assert ADAPTERS[kind].suspended_status(shown, NOW) is None


@pytest.mark.parametrize("kind", KINDS)
def test_ends_and_readiness_are_written_at_once_and_counts_soon(kind: str) -> None:
    statuses = [step.get("status") or {} for step in case(kind)["steps"]]
    last = statuses[-1]
    ask = ADAPTERS[kind].urgency
    assert ask(as_object(original(kind, statuses[1])), last) is Urgency.NOW
    assert ask(as_object(original(kind, last)), last | {"count": 5}) is Urgency.SOON


def test_what_comes_before_readiness_is_written_soon_and_what_comes_after_it_at_once() -> None:
    def status(*conditions: str) -> Obj:
        told = {"status": "True", "reason": "R", "lastTransitionTime": "2026-01-01T12:00:00Z"}
        return {"startTime": "2026-01-01T12:00:00Z", "conditions": [{"type": each, **told} for each in conditions]}

    def asked(old: Obj | None, new: Obj) -> Urgency:
        return ADAPTERS["pytorchjob"].urgency(as_object(original("pytorchjob", old)), new)

    assert asked(None, status("Created")) is Urgency.SOON
    assert asked(status("Created"), status("Created", "Running")) is Urgency.NOW
    assert asked(status("Created", "Running"), status("Created", "Restarting")) is Urgency.NOW


@pytest.mark.parametrize("kind", FINITE)
def test_what_matters_is_tried_alone_if_the_whole_status_is_refused(kind: str) -> None:
    seen = case(kind)["failure"] | {"newer": {"field": 1}}
    reduced = ADAPTERS[kind].reduced_statuses(as_object(original(kind)), as_object(mirror(kind, seen)))
    (status,) = reduced
    assert "newer" not in status
    assert state(ADAPTERS[kind].read(as_object(original(kind, status)))) == "failed"


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_malformed_is_read_as_absent(kind: str) -> None:
    """An open schema lets anything in."""
    for status in ({"conditions": "x"}, {"conditions": [1, {"type": 2}]}, {"startTime": 5, "phase": []}, "text"):
        specs: list[Any] = [
            {},
            {"managedBy": 5, "suspend": "x", "components": [1], "replicatedJobs": {"a": 1}},
            None,
            [],
        ]
        for spec in specs:
            odd = as_object(original(kind) | {"spec": spec, "status": status})
            adapter = ADAPTERS[kind]
            assert adapter.read(odd).managed_by is None
            adapter.demand(odd), adapter.pod_templates(odd), adapter.references(odd, {})
            adapter.merged_status(odd, odd), adapter.suspended_status(odd, NOW)


@pytest.mark.parametrize("kind", KINDS)
def test_malformed_conditions_are_no_obstacle_to_a_suspension(kind: str) -> None:
    rule = SUSPENSIONS[kind]
    assert rule is not None
    odd = original(kind, {"conditions": [1, "x", {}]}, at(rule.path, rule.suspended))
    ADAPTERS[kind].suspended_status(as_object(odd), NOW)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", [300, 450, 900, 5000])
def test_what_is_nested_too_deeply_harms_nobody_else(kind: str, depth: int) -> None:
    """These are asked where an error would end a watch."""
    deep = "[" * depth + "]" * depth
    whole = original(kind)
    raw = json.dumps(whole | {"spec": whole["spec"] | {"deep": "HERE"}}).replace('"HERE"', deep)
    odd = Object(as_object(whole).metadata, raw.encode())
    adapter = ADAPTERS[kind]
    facts = adapter.read(odd)
    assert facts.end is None
    adapter.demand(odd), adapter.pod_templates(odd), adapter.references(odd)
