"""Plays all scripts of some families side by side."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Iterable, Sequence

from .picture import Facts
from .player import Player, prepare_node
from .scripts import Family, Script
from .stage import Stage

Played = dict[str, list[Facts]]
"""The facts after each step, by script."""


async def play_all(stage: Stage, families: Sequence[Family]) -> dict[str, Played]:
    """What came of each family; they have the same settings."""
    await prepare_node(stage)
    gate = asyncio.Semaphore(min(family.at_once for family in families))

    run = secrets.token_hex(4)

    async def one(script: Script) -> list[Facts]:
        async with gate:
            return await Player(stage, script, run).play()

    scripts = [script for family in families for script in family.scripts]
    played = dict(zip(scripts, await asyncio.gather(*map(one, scripts)), strict=True))
    return {family.name: {script.name: played[script] for script in family.scripts} for family in families}


def by_settings(families: Iterable[Family]) -> list[list[Family]]:
    """Families that one manager can serve at the same time."""
    found: dict[str, list[Family]] = {}
    for family in families:
        found.setdefault(json.dumps([family.settings, family.at_once], sort_keys=True), []).append(family)
    return list(found.values())
