"""Figures, and the table that shows them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure. `target` None means that it is shown for information only."""

    what: str
    value: float
    unit: str
    target: float | None = None
    at_least: bool = False
    note: str = ""

    @property
    def ok(self) -> bool:
        if self.target is None:
            return True
        return self.value >= self.target if self.at_least else self.value <= self.target


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:,.1f}" if value >= 10 else f"{value:.2f}"


def table(figures: Sequence[Figure]) -> str:
    """The figures in columns, one line each."""
    rows = [("WHAT", "FIGURE", "TARGET", "OK", "LIMITED BY")]
    for figure in figures:
        target = "-" if figure.target is None else f"{'>=' if figure.at_least else '<='} {_number(figure.target)}"
        verdict = "-" if figure.target is None else "ok" if figure.ok else "NOT"
        rows.append((figure.what, f"{_number(figure.value)} {figure.unit}", target, verdict, figure.note))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]) for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)


def as_json(figures: Sequence[Figure]) -> str:
    return json.dumps([{**asdict(figure), "ok": figure.ok} for figure in figures], indent=2)
