"""The Job controller beside the real one: `JOBRELAY_ORACLE=https://127.0.0.1:26000/TOKEN pytest -m oracle`."""

from __future__ import annotations

import os

import pytest

from .job_scripts.compare import compare, scripts


def test_scripts_only_know_steps_that_there_are() -> None:
    from .job_scripts.player import Player

    verbs = {verb for steps in scripts().values() for step in steps for verb in step}
    assert [verb for verb in sorted(verbs) if not hasattr(Player, f"do_{verb}")] == []


@pytest.mark.oracle
@pytest.mark.skipif("JOBRELAY_ORACLE" not in os.environ, reason="JOBRELAY_ORACLE names no real control plane")
async def test_a_real_job_controller_does_the_same() -> None:
    found = await compare(os.environ["JOBRELAY_ORACLE"], scripts(), at_once=12, settle=4.0)
    assert "\n".join(line for lines in found.values() for line in lines) == ""
