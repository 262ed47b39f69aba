"""Random histories: what is right raises no alarm, and one wrong step is always found."""

from __future__ import annotations

import itertools
from random import Random

from jobrelay.conformance import CONFORMANCE_RULES, Auditor, judge_step

from .histories import FAULTS, Obj, history

NUMBER = 1000
RULES = list(FAULTS)


def alarms(versions: list[Obj]) -> list[str]:
    pairs = itertools.pairwise(versions)
    return [str(each) for old, new in pairs for each in judge_step(old, new)]


def with_one_fault(seed: int) -> tuple[str, Obj, Obj]:
    """A rule, and a step that breaks it, in the first history from a seed on where it can be broken."""
    rule, random = RULES[seed % len(RULES)], Random(seed)
    for number in range(seed, seed + 500):
        versions = history(number)
        versions.append(versions[-1])
        places = [
            (old, new, status)
            for old, new in itertools.pairwise(versions)
            if (status := FAULTS[rule](old, new)) is not None and status != old["status"]
        ]
        if places:
            old, new, status = random.choice(places)
            return rule, old, {**new, "status": status}
    raise AssertionError(f"{rule} cannot be broken")


def test_a_thousand_right_histories_raise_no_alarm() -> None:
    steps = 0
    for seed in range(NUMBER):
        versions = history(seed)
        assert alarms(versions) == [], seed
        steps += len(versions)
    assert steps > 5 * NUMBER


def test_histories_have_all_that_a_job_can_go_through() -> None:
    found = {
        (name, bool(value))
        for seed in range(NUMBER)
        for version in history(seed)
        for name, value in {**version["spec"], **version["status"]}.items()
    }
    fields = {"completedIndexes", "failedIndexes", "uncountedTerminatedPods", "failed", "succeeded", "completionTime"}
    assert {name for name, true in found if true} >= fields | {"suspend", "successPolicy", "terminating"}


def test_a_thousand_histories_with_one_wrong_step_are_all_caught() -> None:
    for seed in range(NUMBER):
        rule, old, new = with_one_fault(seed)
        assert rule in {each.rule.name for each in judge_step(old, new)}, (seed, rule, old, new)


def test_an_auditor_finds_the_step_among_right_ones() -> None:
    versions = history(7)
    wrong = {**versions[-1], "status": {**versions[-1]["status"], "failed": -1}}
    auditor = Auditor()
    found = [each for version in (*versions, wrong) for each in auditor.seen(version, "now", created=True)]
    assert next(each.rule.name for each in found) == "S3"
    assert found[0].before == versions[-1]["status"]


def test_faults_are_there_for_all_rules_about_steps() -> None:
    steps = {rule.name for rule in CONFORMANCE_RULES if not rule.name.startswith("R")}
    assert steps - FAULTS.keys() == {"S34", "C12"}
