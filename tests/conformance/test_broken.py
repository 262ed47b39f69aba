"""A controller with a defect fails by the rule that is about it, and by no other."""

from __future__ import annotations

import pytest

from jobrelay.conformance import CONFORMANCE_RULES, Level
from jobrelay.kit import PodJobController

from .broken import DEFECTS, BrokenController, Defect
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


async def test_a_controller_that_does_not_run_is_found_by_its_rule_and_no_other() -> None:
    report = await judged(lambda client, clock: None)
    assert broken_rules(report) == {"R1"}
    assert report.level == Level.NONE


def test_every_rule_that_the_api_server_does_not_enforce_has_its_defect() -> None:
    assert {rule.name for rule in CONFORMANCE_RULES if not rule.illegal} == {*DEFECTS, "R1"}
