"""What makes commands start slowly stays out of them: `python -m bench --only commands` measures the rest."""

from __future__ import annotations

import asyncio
import pathlib

import pytest

from jobrelay.fleet.folder import HELLO
from tests.relay.fleets import MakeFleet

from .fleets import answering_fleet
from .test_command import imported_by

SLOW = {
    "aiohttp", "cryptography", "importlib.metadata", "lightkube", "prometheus_client", "sqlite3", "structlog",
    "textual", "yaml",
}  # fmt: skip
"""Each takes a good part of what a command may take."""
MOST = 140
"""Modules of our own: a third of a millisecond each."""


@pytest.mark.parametrize(
    "command",
    [
        "get", "explain job/train", "describe job/train", "events", "wait job/train", "cancel job/train",
        "submit {hello}",
    ],
)  # fmt: skip
async def test_a_command_imports_nothing_slow(fleet: MakeFleet, tmp_path: pathlib.Path, command: str) -> None:
    hello = tmp_path / "hello.yaml"
    hello.write_text(HELLO)
    async with answering_fleet(fleet) as it:
        await it.submit()
        await it.finished()
        place = ["--kubeconfig", str(it.management.kubeconfig)]
        found = await asyncio.to_thread(imported_by, *command.format(hello=hello).split(), *place)
    assert not SLOW & found
    assert len([name for name in found if name.startswith("jobrelay")]) <= MOST
