"""Real Kueue still does what is recorded."""

from __future__ import annotations

import pathlib

import pytest

from tests.adopters import programs

from .compare import differences, told
from .known import share_equal
from .manager import MANAGER
from .scripts import families
from .theirs import play

SAME = 0.99
"""Some facts depend on how fast a manager is: two recordings may agree by chance."""


@pytest.mark.parity
async def test_real_kueue_does_what_is_recorded(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    if lacking := programs.lacking():
        pytest.skip(lacking)
    if missing := programs.missing(MANAGER, programs.versions()):
        pytest.skip(f"not built: {' '.join(missing)}")
    found: dict[str, list[list[str]]] = {}
    async for family, [played] in play(families(), tmp_path):
        found |= differences(family, played)
        with capsys.disabled():
            print("\n".join(told(family, played)))
    assert share_equal(found) >= SAME
