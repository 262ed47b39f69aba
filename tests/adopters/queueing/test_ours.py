"""Our admission does what real Kueue did."""

from __future__ import annotations

import pytest

from tests.adopters import programs

from . import known
from .manager import MANAGER
from .ours import compare
from .scripts import Family, families

SAME = 0.97
"""The least share of steps after which everything is the same; raise it as admission gets closer to Kueue's."""


def playable() -> list[Family]:
    """All families; those about MultiKueue only where there is real Kueue, which admits there."""
    there = not programs.lacking() and not programs.missing(MANAGER, programs.versions())
    return [family for family in families() if there or not family.workers]


@pytest.mark.parity
async def test_our_admission_does_what_real_kueue_did(capsys: pytest.CaptureFixture[str]) -> None:
    found = await compare(playable())
    share = known.share_equal(found)
    with capsys.disabled():
        print("\n".join(known.problems(known.load(), found)))
        print(f"{share:.1%} of {sum(map(len, found.values()))} steps are equal")
    assert share >= SAME
