"""`jobrelay worker lost`: only what is dead is declared so without a question."""

from __future__ import annotations

import asyncio
import os
import pty
import subprocess

import pytest
from click.testing import CliRunner

from jobrelay.cli import root
from jobrelay.kube import Resource
from jobrelay.relay.names import STATE
from tests.relay.fleets import Fleet, MakeFleet

from .command import COMMAND, ENVIRONMENT
from .fleets import answering_fleet, call

KIND = Resource("kueue.x-k8s.io", "v1beta2", "multikueueclusters", "MultiKueueCluster", namespaced=False)


async def state(it: Fleet, name: str = "worker-1") -> str | None:
    return (await it.client.get(KIND, name)).metadata.annotations.get(STATE)


async def test_a_worker_that_answers_is_not_declared_lost_without_a_word(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet, registered=True) as it:
        result = await call(it, "worker", "lost", "worker-1")
        assert (result.exit_code, await state(it)) == (2, None)
        assert result.stderr.splitlines() == [
            "error: worker-1 answers, so what runs there would run twice",
            "hint: `jobrelay worker drain worker-1` moves it; --yes declares it lost all the same",
        ]
        assert (await call(it, "worker", "lost", "worker-1", "--yes")).stderr == "worker worker-1 lost\n"
        assert await state(it) == "lost"


async def test_a_worker_that_does_not_answer_is_declared_lost_at_once(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet, registered=True) as it:
        result = await call(it, "worker", "lost", "worker-1", "--lease-name", "another")
        assert (result.exit_code, await state(it)) == (0, "lost")


async def test_a_name_that_no_worker_has_changes_nothing(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet, registered=True) as it:
        result = await call(it, "worker", "lost", "worker-1", "worker-9", "--yes")
        assert (result.exit_code, await state(it)) == (2, None)
        assert "worker 'worker-9' is not registered" in result.stderr


@pytest.mark.parametrize(("answer", "declared"), [("n\n", None), ("y\n", "lost")])
async def test_at_a_terminal_it_is_asked(fleet: MakeFleet, answer: str, declared: str | None) -> None:
    async with answering_fleet(fleet, registered=True) as it:
        ours, theirs = pty.openpty()
        os.write(ours, answer.encode())
        command = [*COMMAND, "worker", "lost", "worker-1", "--kubeconfig", str(it.management.kubeconfig)]
        shown = await _run(command, theirs)
        assert "worker-1 answers: what runs there would run twice." in shown
        assert await state(it) == declared
        os.close(ours)
        os.close(theirs)


async def _run(command: list[str], stdin: int) -> str:
    done = await asyncio.to_thread(
        subprocess.run, command, stdin=stdin, capture_output=True, text=True, env=ENVIRONMENT, timeout=60, check=False
    )
    return done.stderr


@pytest.mark.parametrize("typed", ["lst", "lots", "lose"])
def test_it_is_not_suggested_for_a_typing_error(typed: str) -> None:
    result = CliRunner().invoke(root, ["worker", typed])
    assert result.exit_code == 2
    assert "lost" not in result.stderr.splitlines()[-1].replace(typed, "")
