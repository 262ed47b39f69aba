"""Measures two checkouts of the project at the same time and shows what became better or worse.

    python -m bench.compare ../before [--only writes] [--rounds 3] [--tolerance 5]

Each scenario runs in both checkouts at once, round after round, so that a machine that slows down slows down both: one
after the other they differ by a tenth and more on a shared machine, even in CPU time. Rates are lower than those of one
alone; what counts is how they compare. The other checkout needs its own environment (`make .venv/.dev` there). Figures
are matched by their place in the scenario, because a description may have been reworded; those that only this checkout
has come last and are left out. The exit code is 1 if the median of a figure became worse by more than the tolerance.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

from bench.__main__ import SCENARIOS
from bench.process import ROOT

_WORSE: Final = 1


@dataclass(frozen=True, slots=True)
class Comparison:
    """One figure in both checkouts; `worse` is the share by which it became worse (negative: better)."""

    what: str
    unit: str
    before: float
    after: float
    at_least: bool

    @property
    def worse(self) -> float:
        if not self.before or not self.after:
            return 0.0
        return self.before / self.after - 1 if self.at_least else self.after / self.before - 1


def compare(before: Sequence[Sequence[Any]], after: Sequence[Sequence[Any]]) -> list[Comparison]:
    """Medians over the rounds of one scenario; a round is what `python -m bench --json` prints."""
    names = [row["what"] for row in after[0]]
    return [
        Comparison(
            name,
            after[0][place]["unit"],
            statistics.median(figures[place]["value"] for figures in before),
            statistics.median(figures[place]["value"] for figures in after),
            after[0][place]["at_least"],
        )
        for place, name in enumerate(names[: len(before[0])])
    ]


def table(rows: Sequence[Comparison], tolerance: float) -> str:
    cells = [("WHAT", "BEFORE", "AFTER", "CHANGE", "")]
    for row in rows:
        verdict = "WORSE" if row.worse > tolerance else ""
        sign = "worse" if row.worse > 0 else "better"
        cells.append(
            (row.what, f"{row.before:,.2f}", f"{row.after:,.2f} {row.unit}", f"{abs(row.worse):.1%} {sign}", verdict)
        )
    widths = [max(len(line[column]) for line in cells) for column in range(5)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells
    )


def _measure(checkouts: Sequence[pathlib.Path], scenario: str) -> list[Any]:
    """What `python -m bench --json` prints in each checkout."""
    with ExitStack() as running:
        started = [running.enter_context(_start(checkout, scenario)) for checkout in checkouts]
        printed = [process.communicate()[0] for process in started]
    for checkout, text in zip(checkouts, printed, strict=True):
        if not text:
            raise SystemExit(f"error: {scenario} failed in {checkout}")
    return [json.loads(text) for text in printed]


def _start(checkout: pathlib.Path, scenario: str) -> subprocess.Popen[str]:
    command = [str(checkout / ".venv" / "bin" / "python"), "-m", "bench", "--json", "--only", scenario]
    return subprocess.Popen(command, cwd=checkout, stdout=subprocess.PIPE, text=True)


def main() -> int:
    chosen = _arguments()
    found: list[Comparison] = []
    for scenario in chosen.only or SCENARIOS:
        rounds = []
        for number in range(chosen.rounds):
            print(f"{scenario}, round {number + 1} of {chosen.rounds}", file=sys.stderr, flush=True)
            rounds.append(_measure((chosen.before, ROOT), scenario))
        before, after = zip(*rounds, strict=True)
        found += compare(before, after)
        print(table(found[-min(len(before[0]), len(after[0])) :], chosen.tolerance / 100), flush=True)
    return _WORSE if any(row.worse > chosen.tolerance / 100 for row in found) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=pathlib.Path, help="the other checkout")
    parser.add_argument("--only", choices=SCENARIOS, action="append", help="measure only this; may be repeated")
    parser.add_argument("--rounds", type=int, default=3, help="how often each scenario runs")
    parser.add_argument("--tolerance", type=float, default=5.0, help="how many percent worse is still accepted")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
