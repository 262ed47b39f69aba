"""The lane: all scripts of pod events played to a real control plane and to ours; the share of the same steps must
hold."""

from __future__ import annotations

import pytest

from .job_scripts.compare import compare, scripts
from .job_scripts.player import Player

SAME = 0.98
"""The least share of steps after which both show the same; raise it as the controllers get closer."""
LEAST_SCRIPTS = 400


def test_scripts_only_know_steps_that_there_are() -> None:
    verbs = {verb for steps in scripts().values() for step in steps for verb in step}
    assert [verb for verb in sorted(verbs) if not hasattr(Player, f"do_{verb}")] == []


def test_there_are_many_scripts() -> None:
    assert len(scripts()) >= LEAST_SCRIPTS


@pytest.mark.oracle
async def test_a_real_control_plane_does_the_same(real_address: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = await compare(real_address, scripts())
    with capsys.disabled():
        print("\n".join(line for outcome in found.values() for line in outcome.lines))
    steps, different = sum(one.steps for one in found.values()), sum(one.different for one in found.values())
    assert 1 - different / steps >= SAME, f"{steps - different} of {steps} steps are the same"
