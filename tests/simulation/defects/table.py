"""The searches for all defects as a table, for the page that tells of them."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

from jobrelay.cli.logging_setup import configure_logging
from jobrelay.simulation import INCIDENTS
from tests.simulation.defects.catalog import DEFECTS
from tests.simulation.defects.finding import Found, find

PAGE = Path(__file__).parents[3] / "docs/concepts/simulation.md"
HEAD = "| defect | what goes wrong | incidents | found after | by |"
_BEGIN, _END = "<!-- begin: found defects -->\n", "<!-- end: found defects -->\n"


def search(number: int, most: int) -> Found | None:
    """Search for one of the defects, in any process."""
    configure_logging("critical", "text")
    found = find(DEFECTS[number], most)
    print(f"{DEFECTS[number]}: {found.schedules if found is not None else 'not found'}", file=sys.stderr, flush=True)
    return found


def write(table: str) -> None:
    """Put the table into the page."""
    head, _, rest = PAGE.read_text().partition(_BEGIN)
    PAGE.write_text(f"{head}{_BEGIN}{table}{_END}{rest.partition(_END)[2]}")


def make_table(found: list[Found | None], most: int) -> str:
    rows = [HEAD, "|---|---|---|---|---|"]
    for defect, result in zip(DEFECTS, found, strict=True):
        kinds = "all" if defect.incidents == tuple(INCIDENTS) else ", ".join(f"`{kind}`" for kind in defect.incidents)
        after = f"{result.schedules}" if result is not None else f"not in {most}"
        promises = ", ".join(sorted(result.outcome.promises)) if result is not None else ""
        rows.append(f"| `{defect}` | {defect.text} | {kinds} | {after} | {promises} |")
    middle = median(result.schedules if result is not None else most for result in found)
    return "\n".join([*rows, "", f"Half of them are found within {middle:g} schedules.", ""])
