"""A controller with a defect fails by the rule that is about it, and by no other."""

from __future__ import annotations

import pytest

from jobrelay.conformance import CONFORMANCE_RULES, Level
from jobrelay.kinds.batch.job import update
from jobrelay.kit import PodJobController

from .broken import DEFECTS, ILLEGAL, BrokenController, Defect
from .worlds import MANAGER, broken_rules, judged


async def test_a_controller_without_a_defect_is_complete() -> None:
    report = await judged(lambda client, clock: PodJobController(client, MANAGER, clock=clock))
    assert (report.level, broken_rules(report)) == (Level.COMPLETE, set())
    report = await judged(lambda client, clock: BrokenController(client, clock, Defect()))
    assert (report.level, broken_rules(report)) == (Level.COMPLETE, set())


@pytest.mark.parametrize("rule", DEFECTS)
async def test_a_defect_is_found_by_its_rule_and_no_other(rule: str) -> None:
    report = await judged(lambda client, clock: BrokenController(client, clock, DEFECTS[rule]))
    assert broken_rules(report) == {rule}
    assert report.level < Level.COMPLETE


@pytest.mark.parametrize("rule", ILLEGAL)
async def test_an_illegal_status_is_found_where_the_api_server_lets_it_pass(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update, "validate_job_status_update", lambda new, old: [])
    report = await judged(lambda client, clock: BrokenController(client, clock, ILLEGAL[rule]))
    assert broken_rules(report) == {rule}


async def test_where_it_does_not_the_jobs_do_not_end() -> None:
    only = frozenset({"plain"})
    report = await judged(lambda client, clock: BrokenController(client, clock, ILLEGAL["S11"]), only=only)
    assert broken_rules(report) == {"R2"}


async def test_a_controller_that_does_not_run_is_found_by_its_rule_and_no_other() -> None:
    report = await judged(lambda client, clock: None)
    assert broken_rules(report) == {"R1"}
    assert report.level == Level.NONE


def test_every_rule_that_the_api_server_does_not_enforce_has_its_defect() -> None:
    assert {rule.name for rule in CONFORMANCE_RULES if not rule.illegal} == {*DEFECTS, "R1"}
