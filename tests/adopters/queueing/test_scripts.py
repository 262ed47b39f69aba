"""The scripts, and what they are made of."""

from __future__ import annotations

import pathlib

from . import recording
from .fleet_player import FleetPlayer
from .objects import Names, cluster_queue, job, quota
from .player import Player
from .scripts import families, load

LEAST_SCRIPTS = 300


def test_there_are_many_scripts() -> None:
    assert sum(len(family.scripts) for family in families()) >= LEAST_SCRIPTS


def test_scripts_only_know_steps_that_there_are() -> None:
    for family in families():
        player = FleetPlayer if family.workers else Player
        steps = [step for script in family.scripts for step in script.steps]
        there = [one for step in steps for one in step.get("at", {}).values()]
        assert [verb for step in steps for verb in step if not hasattr(player, f"do_{verb}")] == []
        assert [verb for step in there for verb in step if not hasattr(Player, f"do_{verb}")] == []


def test_every_script_has_a_name_and_a_slug_of_its_own() -> None:
    scripts = [script for family in families() for script in family.scripts]
    assert len({(script.family, script.name) for script in scripts}) == len(scripts)
    assert len({script.slug("") for script in scripts}) == len(scripts)


def test_every_script_is_recorded() -> None:
    for family in families():
        recorded = recording.load(family.name)
        steps = {script.name: len(script.steps) for script in family.scripts}
        assert {name: len(each) for name, each in recorded.items()} == steps, f"record {family.name} again"


def test_a_template_is_filled_with_all_combinations(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "some.yaml"
    path.write_text(
        'with ${n} of ${w}: {each: {n: [1, 2], w: [a]}, steps: [{job: {x: {cpu: "${n}", queue: "q${w}"}}}]}'
    )
    found = load(path).scripts
    assert [script.name for script in found] == ["with 1 of a", "with 2 of a"]
    assert found[1].steps == ({"job": {"x": {"cpu": 2, "queue": "qa"}}},)


def test_a_quota_may_have_limits() -> None:
    assert quota("cpu", "4 borrow 2 lend 1") == {
        "name": "cpu", "nominalQuota": "4", "borrowingLimit": "2", "lendingLimit": "1",
    }  # fmt: skip


def test_names_of_a_queue_carry_the_slug() -> None:
    spec = cluster_queue(Names("s1"), "q", {"cpu": 1, "cohort": "c", "checks": ["k"]})["spec"]
    assert spec["cohortName"] == "s1-c"
    assert spec["resourceGroups"][0]["flavors"][0]["name"] == "s1-default"
    assert spec["admissionChecksStrategy"]["admissionChecks"] == [{"name": "s1-k"}]


def test_a_job_is_queued_by_labels() -> None:
    made = job(Names("s1"), "a", {"queue": "q", "priority": "high", "cpu": 1, "count": 2, "min": 1})
    assert made["metadata"]["labels"] == {
        "kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/priority-class": "s1-high",
    }  # fmt: skip
    assert made["metadata"]["annotations"] == {"kueue.x-k8s.io/job-min-parallelism": "1"}
    assert (made["spec"]["parallelism"], made["spec"]["completions"]) == (2, 2)
