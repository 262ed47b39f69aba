"""The mirrors of the declared kinds: what they contain, what is forwarded to them, and what stays theirs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from jobrelay.apimachinery import yaml
from jobrelay.apimachinery.patch.merge import apply_merge_patch
from jobrelay.workloads import MirrorParameters
from jobrelay.workloads.builtin import built_in_descriptions

from .declared_kinds import ADAPTERS, KINDS, PARAMETERS, Obj, as_object, at, golden, mirror, original

STARTED = {"startTime": "2026-01-01T12:00:00Z"}
HELD = MirrorParameters("manager", 3, "mirror", suspend=True, proof="proof")
GROUPS = original("raycluster")["spec"]["workerGroupSpecs"]
SUSPENSIONS = {kind.lower(): found.suspension for kind, found in built_in_descriptions().items()}


def patch(kind: str, changed: Obj, mirrored: Obj, parameters: MirrorParameters = PARAMETERS) -> Obj | None:
    return ADAPTERS[kind].mirror_patch(as_object(changed), as_object(mirrored), parameters)


def keys(value: Any, place: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield f"{place}.{key}"
            yield from keys(each, f"{place}.{key}")
    elif isinstance(value, list):
        for each in value:
            yield from keys(each, f"{place}.*")


@pytest.mark.parametrize("kind", KINDS)
def test_a_mirror_is_as_its_golden_file_says(kind: str) -> None:
    """`python -m tests.workloads.declared_kinds` writes the files."""
    body = ADAPTERS[kind].mirror(as_object(original(kind)), PARAMETERS)
    assert body == yaml.load(golden(kind).read_bytes())


@pytest.mark.parametrize("kind", KINDS)
def test_a_mirror_is_not_delegated_nor_does_it_delete_itself(kind: str) -> None:
    """managedBy of a child Job is its user's."""
    body = ADAPTERS[kind].mirror(as_object(original(kind)), PARAMETERS)
    assert ADAPTERS[kind].read(as_object(body)).managed_by is None
    found = {key for key in keys(body) if key.endswith(("managedBy", "ttlSecondsAfterFinished"))}
    assert found <= {".spec.replicatedJobs.*.template.spec.managedBy"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_mirror_needs_no_change(kind: str) -> None:
    assert patch(kind, original(kind), mirror(kind)) is None


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_worker_defaults_is_left_to_it(kind: str) -> None:
    defaulted = {"suspend": False, "addedByTheWorker": {"x": 1}}
    change = {} if kind in ("rayservice", "pipelinerun", "taskrun") else defaulted
    assert patch(kind, original(kind), mirror(kind, change=change)) is None


@pytest.mark.parametrize("kind", KINDS)
def test_changed_marks_are_restored(kind: str) -> None:
    found = mirror(kind)
    found["metadata"]["annotations"]["jobrelay.dev/epoch"] = "9"
    change = patch(kind, original(kind), found)
    assert change is not None
    assert set(change) == {"metadata"}


@pytest.mark.parametrize("kind", KINDS)
def test_suspension_is_forwarded_both_ways(kind: str) -> None:
    rule = SUSPENSIONS[kind]
    assert rule is not None
    suspended = at(rule.path, rule.suspended)
    assert patch(kind, original(kind, change=suspended), mirror(kind)) == {"spec": suspended}
    assert patch(kind, original(kind), mirror(kind, change=suspended)) == {"spec": at(rule.path, rule.running)}


@pytest.mark.parametrize("kind", KINDS)
def test_a_mirror_can_be_held_back(kind: str) -> None:
    rule = SUSPENSIONS[kind]
    assert rule is not None
    body = ADAPTERS[kind].mirror(as_object(original(kind)), HELD)
    assert ADAPTERS[kind].read(as_object(body)).suspended
    assert patch(kind, original(kind), body, HELD) is None
    assert patch(kind, original(kind), body) == {"spec": at(rule.path, rule.running)}


@pytest.mark.parametrize(("kind", "pending"), [("pipelinerun", "PipelineRunPending"), ("taskrun", "TaskRunPending")])
class TestTekton:
    def test_a_cancellation_is_forwarded(self, kind: str, pending: str) -> None:
        cancelled = original(kind, change={"status": "Cancelled"})
        assert patch(kind, cancelled, mirror(kind, STARTED)) == {"spec": {"status": "Cancelled"}}

    def test_a_started_run_cannot_be_suspended(self, kind: str, pending: str) -> None:
        suspended = original(kind, change={"status": pending})
        assert patch(kind, suspended, mirror(kind, STARTED)) is None

    def test_the_original_is_set_to_run_before_its_start_is_written(self, kind: str, pending: str) -> None:
        suspended = as_object(original(kind, change={"status": pending}))
        ask = ADAPTERS[kind].original_patch
        assert ask(suspended, as_object(mirror(kind))) is None
        assert ask(suspended, as_object(mirror(kind, STARTED))) == {"spec": {"status": ""}}
        assert ask(as_object(original(kind)), as_object(mirror(kind, STARTED))) is None


class TestRay:
    def test_replicas_are_forwarded_in_a_whole_list(self) -> None:
        groups = [group | {"replicas": 5} for group in GROUPS]
        found = mirror("raycluster")
        found["spec"]["workerGroupSpecs"][0]["scaleStrategy"] = {"workersToDelete": []}
        change = patch("raycluster", original("raycluster", change={"workerGroupSpecs": groups}), found)
        assert change is not None
        (group,) = change["spec"]["workerGroupSpecs"]
        assert (group["replicas"], group["numOfHosts"], group["scaleStrategy"]) == (5, 2, {"workersToDelete": []})

    def test_replicas_are_the_autoscalers_where_there_is_one(self) -> None:
        groups = [group | {"replicas": 5} for group in GROUPS]
        change = {"workerGroupSpecs": groups, "enableInTreeAutoscaling": True}
        assert patch("raycluster", original("raycluster", change=change), mirror("raycluster")) is None

    def test_groups_that_were_exchanged_are_not_mixed_up(self) -> None:
        groups = [
            group | {"replicas": 5, "groupName": "x"} for group in original("raycluster")["spec"]["workerGroupSpecs"]
        ]
        assert (
            patch("raycluster", original("raycluster", change={"workerGroupSpecs": groups}), mirror("raycluster"))
            is None
        )

    def test_a_new_configuration_of_a_service_is_forwarded(self) -> None:
        changed = original("rayservice", change={"serveConfigV2": "applications: [x]"})
        assert patch("rayservice", changed, mirror("rayservice")) == {"spec": {"serveConfigV2": "applications: [x]"}}


@pytest.mark.parametrize("kind", KINDS)
def test_a_patched_mirror_needs_no_second_patch(kind: str) -> None:
    rule = SUSPENSIONS[kind]
    assert rule is not None
    changed, found = original(kind, change=at(rule.path, rule.suspended)), mirror(kind)
    change = patch(kind, changed, found)
    assert change is not None
    assert patch(kind, changed, apply_merge_patch(found, change)) is None
