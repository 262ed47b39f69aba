"""Writes what answers differ in into docs/reference/compatibility.md, from the list of known differences.

`make reference` runs it; a test compares the page with the list.
"""

from __future__ import annotations

import pathlib
from typing import Final

from tests.oracle.known import KnownDifference, load

PAGE: Final = pathlib.Path(__file__).resolve().parents[1] / "docs" / "reference" / "compatibility.md"
BEGIN: Final = "<!-- made from tests/oracle/known_differences.yaml by `make reference` -->\n"
END: Final = "<!-- end of what is made -->\n"
_HEADER: Final = "| what | here | on a real server | why | requests |\n|---|---|---|---|---|\n"


def row(entry: KnownDifference) -> str:
    count = sum(request.times for request in entry.requests)
    return f"| {' | '.join([entry.what, entry.here, entry.there, entry.why, str(count) if count else ''])} |\n"


def page(text: str) -> str:
    """The page with a new table between the two marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "".join([before, BEGIN, "\n", _HEADER, *map(row, load()), "\n", END, after])


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
