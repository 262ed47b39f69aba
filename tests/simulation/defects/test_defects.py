"""Each defect that is put back is found, most of them soon.

The search takes minutes, so it has a lane of its own; the plain tests only show that defects can be put back and found.
"""

from __future__ import annotations

from statistics import median

import pytest

from jobrelay.simulation import draw, play
from tests.simulation.defects.catalog import DEFECTS
from tests.simulation.defects.finding import MOST, Defect, find
from tests.simulation.defects.table import HEAD, PAGE

_needed: dict[str, int] = {}


def named(name: str) -> Defect:
    return next(defect for defect in DEFECTS if defect.name == name)


def test_defects_can_be_put_back_and_are_gone_afterwards() -> None:
    for defect in DEFECTS:
        with pytest.MonkeyPatch.context() as patch:
            defect.put_back(patch)
    assert play(draw(1)).broken == []


def test_a_defect_is_found_by_the_promise_that_it_breaks() -> None:
    found = find(named("mirrors-kept"), 3)
    assert found is not None
    assert found.outcome.promises == {"no-leftovers"}


def test_the_page_tells_of_every_defect() -> None:
    """`python -m tests.simulation.defects --write` makes its table."""
    rows = PAGE.read_text().partition(HEAD)[2].splitlines()[2:]
    told = [row.split(" | ")[:2] for row in rows if row.startswith("| `")]
    assert told == [[f"| `{defect}`", defect.text] for defect in DEFECTS]


@pytest.mark.defects
@pytest.mark.parametrize("defect", DEFECTS, ids=str)
def test_every_defect_is_found(defect: Defect) -> None:
    found = find(defect, MOST)
    assert found is not None, f"{defect.text}: not found in {MOST} schedules"
    _needed[defect.name] = found.schedules
    print(f"\n{defect.name}: {found.schedules} schedules, {found.outcome.broken[0]}")


@pytest.mark.defects
def test_half_of_the_defects_are_found_soon() -> None:
    """Runs after the searches, in the same process."""
    assert len(_needed) == len(DEFECTS), "run all searches in one process"
    print(f"\nmedian: {median(_needed.values()):g} schedules")
    assert median(_needed.values()) <= MOST
