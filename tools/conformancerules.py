"""Generates docs/reference/conformance.md from the scenarios and rules themselves: part of `make reference`."""

from __future__ import annotations

import pathlib

from jobrelay.conformance import CONFORMANCE_RULES, SCENARIOS

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "reference" / "conformance.md"
INTRODUCTION = """\
# Conformance of Job controllers

The scenarios and rules by which `jobrelay conformance` judges a Job controller ([guide](../guides/conformance.md)).
This page is generated from the code by `make reference`.

A level has all that the one before has:

- **observes**: its statuses keep the rules; it leaves the Jobs of others alone and nothing behind.
- **runs**: it runs Jobs to the end that their pods call for.
- **complete**: it does all that the built-in controller does.

A violation counts at the higher one of two levels: that of the rule and that of the scenario. A scenario that is
skipped counts as not passed at its level.

## Scenarios

| scenario | level | field | what has to happen |
|---|---|---|---|
"""
RULES = """
## Rules

S1 to S34 are those of the API server, all of level observes: [rules for statuses](status-rules.md). C1 to C14 are about
two statuses that follow each other, so `jobrelay conformance watch` judges by them too. What breaks one of S1 to S34 is
not judged by them as well. R1 to R15 are found by scenarios only. R2 and the rules after it are not told of a Job whose
statuses have already broken a rule of the same or of a lower level.

| rule | level | meaning |
|---|---|---|
"""


def page() -> str:
    """The whole page."""
    scenarios = [f"| {each.name} | {each.level} | `{each.feature}` | {each.summary} |" for each in SCENARIOS]
    rules = [f"| {each.name} | {each.level} | {each.meaning} |" for each in CONFORMANCE_RULES if not each.illegal]
    return INTRODUCTION + "\n".join(scenarios) + "\n" + RULES + "\n".join(rules) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
