"""Reports: the level that follows from results, and the files for CI and READMEs."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from jobrelay.conformance import (
    SCENARIOS,
    ConformanceReport,
    Level,
    Scenario,
    ScenarioResult,
    Violation,
    badge_svg,
    junit_xml,
)
from jobrelay.conformance.rules import rule_named


def scenario(level: Level) -> Scenario:
    return next(each for each in SCENARIOS if each.level == level)


def broken(level: Level, rule: str) -> ScenarioResult:
    return ScenarioResult(
        scenario(level), (Violation(rule_named(rule), "<it> went wrong"),), steps=("+0.1 s active=1",)
    )


def report(*results: ScenarioResult, wanted: Level = Level.COMPLETE) -> ConformanceReport:
    passed = [ScenarioResult(scenario(level)) for level in Level if level and level <= wanted]
    return ConformanceReport("example.com/x", wanted, (*passed, *results), 1.5, server="v1.35.4")


@pytest.mark.parametrize(
    ("result", "level"),
    [
        (None, Level.COMPLETE),
        (broken(Level.OBSERVES, "S15"), Level.NONE),
        (broken(Level.RUNS, "R2"), Level.OBSERVES),
        (broken(Level.RUNS, "C4"), Level.OBSERVES),
        (broken(Level.OBSERVES, "R2"), Level.OBSERVES),
        (broken(Level.OBSERVES, "C1"), Level.RUNS),
        (broken(Level.COMPLETE, "C4"), Level.RUNS),
        (ScenarioResult(scenario(Level.COMPLETE), skipped="no pods here"), Level.RUNS),
        (ScenarioResult(scenario(Level.RUNS), error="refused"), Level.OBSERVES),
    ],
)
def test_a_level_needs_all_its_scenarios_and_all_its_rules(result: ScenarioResult | None, level: Level) -> None:
    found = report(*filter(None, [result]))
    assert (found.level, found.passed) == (level, level == Level.COMPLETE)


def test_what_is_above_the_level_that_was_asked_for_does_not_count() -> None:
    found = report(broken(Level.RUNS, "C1"), wanted=Level.RUNS)
    assert (found.level, found.passed) == (Level.RUNS, True)
    assert found.as_json()["results"][-1]["outcome"] == "passed"


def test_junit_has_a_case_for_each_scenario() -> None:
    skipped = ScenarioResult(scenario(Level.COMPLETE), skipped="no pods & no nodes")
    refused = ScenarioResult(scenario(Level.RUNS), error='"x" is forbidden')
    suite = ElementTree.fromstring(junit_xml(report(broken(Level.RUNS, "R2"), skipped, refused)))
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "6", "failures": "1", "errors": "1", "skipped": "1",
    }  # fmt: skip
    failure = suite.find(".//failure")
    assert failure is not None
    assert (failure.get("type"), "<it> went wrong" in (failure.text or "")) == ("R2", True)


@pytest.mark.parametrize(("rule", "word"), [("S15", "none"), ("R2", "observes"), ("C1", "runs")])
def test_a_badge_says_the_level(rule: str, word: str) -> None:
    svg = ElementTree.fromstring(badge_svg(report(broken(Level.OBSERVES, rule))))
    assert svg.get("aria-label") == f"Job conformance: {word} (Kubernetes v1.35.4)"


def test_json_has_rules_stories_and_steps() -> None:
    found = report(broken(Level.RUNS, "R2")).as_json()
    assert (found["level"], found["passed"], found["managedBy"]) == ("observes", False, "example.com/x")
    last = found["results"][-1]
    assert (last["violations"][0]["rule"], last["violations"][0]["level"]) == ("R2", "runs")
    assert last["steps"] == ["+0.1 s active=1"]


def test_scenarios_have_names_and_sentences_of_their_own() -> None:
    assert len({each.name for each in SCENARIOS}) == len(SCENARIOS) == 23
    assert all(each.summary.endswith(".") and len(each.name) < 30 for each in SCENARIOS)
