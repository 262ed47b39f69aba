"""Our admission does what real Kueue did."""

from __future__ import annotations

import pytest

from . import known
from .ours import compare
from .scripts import families

SAME = 0.97
"""The least share of steps after which everything is the same; raise it as admission gets closer to Kueue's."""


@pytest.mark.parity
async def test_our_admission_does_what_real_kueue_did(capsys: pytest.CaptureFixture[str]) -> None:
    found = await compare(families())
    share = known.share_equal(found)
    with capsys.disabled():
        print("\n".join(known.problems(known.load(), found)))
        print(f"{share:.1%} of {sum(map(len, found.values()))} steps are equal")
    assert share >= SAME
