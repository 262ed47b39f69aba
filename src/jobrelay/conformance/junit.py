"""The report of a run for CI systems: JUnit's XML."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from jobrelay.conformance.result import ConformanceReport, ScenarioResult
from jobrelay.conformance.rules import Level

__all__ = ["junit_xml"]


def junit_xml(report: ConformanceReport) -> str:
    """The whole file: one test case for each scenario."""
    outcomes = [each.outcome(report.wanted) for each in report.results]
    counts = {"failures": "failed", "errors": "error", "skipped": "skipped"}
    totals = " ".join(f'{name}="{outcomes.count(word)}"' for name, word in counts.items())
    name = quoteattr(f"conformance of {report.managed_by}")
    cases = "\n".join(_case(each, report.wanted) for each in report.results)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuite name={name} tests="{len(outcomes)}" {totals} time="{report.seconds:.1f}">\n{cases}\n</testsuite>\n'
    )


def _case(result: ScenarioResult, level: Level) -> str:
    name, group = quoteattr(result.scenario.name), quoteattr(f"conformance.{result.scenario.level}")
    head = f'  <testcase name={name} classname={group} time="{result.seconds:.1f}"'
    inner = _inner(result, level)
    return f"{head}>\n    {inner}\n  </testcase>" if inner else f"{head}/>"


def _inner(result: ScenarioResult, level: Level) -> str:
    outcome, broken = result.outcome(level), result.broken_at(level)
    if outcome == "failed":
        text = "\n".join([*map(str, broken), *result.steps])
        return f'<failure type="{broken[0].rule.name}" message={quoteattr(str(broken[0]))}>{escape(text)}</failure>'
    if outcome == "error":
        return f"<error message={quoteattr(result.error)}/>"
    return f"<skipped message={quoteattr(result.skipped)}/>" if outcome == "skipped" else ""
