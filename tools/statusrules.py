"""Generates docs/reference/status-rules.md from the rules themselves: part of `make reference`."""

from __future__ import annotations

import pathlib

from jobrelay.kinds.batch.job.status import RULES

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "reference" / "status-rules.md"
INTRODUCTION = """\
# Rules for statuses of Jobs

An API server checks every write to the status of a Job, whoever writes it. These are the rules of Kubernetes v1.35, in
the order in which their errors are told. This page is generated from `jobrelay.kit.RULES` by `make reference`.

`jobrelay lint status OLD NEW` names the rules that a write would break, and so does `IllegalStatus` of
[`jobrelay.kit`](../guides/job-controller.md). A rule with fields in the last column can be broken only by a write that
changes one of them, so old bad data does not block other writes.

| rule | meaning | field of the error | text of the error | broken by a change of |
|---|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    rows = [
        f"| {rule.name} | {rule.meaning} | `{rule.path}` | {_code(rule.text)} | {_fields(rule.touches)} |"
        for rule in RULES
    ]
    return INTRODUCTION + "\n".join(rows) + "\n"


def _code(text: str) -> str:
    shown = text.replace("{}", "TYPE").strip().rstrip(":")
    return f"`` {shown} ``" if "`" in shown else f"`{shown}`" if shown else "the repeated value"


def _fields(touches: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in touches) or "anything"


if __name__ == "__main__":
    PAGE.write_text(page())
