"""Judges Job controllers from outside, by the Jobs that they are given.

    async with connect() as client:
        report = await ConformanceRun(client, RunOptions(managed_by="example.com/jobs")).run()
        print(report.level, report.passed)

`judge_step` judges two versions of a Job that follow each other, no matter who wrote them. An `Auditor` does it for all
Jobs that it is shown; `replay` shows it those of a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobrelay.lazy import lazy_exports

if TYPE_CHECKING:
    from .auditing import AuditFinding, Auditor
    from .badge import badge_svg
    from .junit import junit_xml
    from .recording import RecordingError, record_line, replay
    from .result import ConformanceReport, ScenarioResult
    from .rules import CONFORMANCE_RULES, ConformanceRule, Level, Violation
    from .run import ConformanceRun, RunOptions
    from .scenario import Scenario
    from .scenarios import SCENARIOS
    from .steps import judge_step
    from .workspace import clean

__all__ = [
    "CONFORMANCE_RULES", "SCENARIOS", "AuditFinding", "Auditor", "ConformanceReport", "ConformanceRule",
    "ConformanceRun", "Level", "RecordingError", "RunOptions", "Scenario", "ScenarioResult", "Violation", "badge_svg",
    "clean", "judge_step", "junit_xml", "record_line", "replay",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(
        __name__,
        auditing="AuditFinding Auditor",
        badge="badge_svg",
        junit="junit_xml",
        recording="RecordingError record_line replay",
        result="ConformanceReport ScenarioResult",
        rules="CONFORMANCE_RULES ConformanceRule Level Violation",
        run="ConformanceRun RunOptions",
        scenario="Scenario",
        scenarios="SCENARIOS",
        steps="judge_step",
        workspace="clean",
    )
