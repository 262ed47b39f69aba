"""Plays all scripts of some families side by side."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from .fleet_player import FleetPlayer
from .picture import Facts
from .player import Player, prepare_node
from .scripts import Family, Script
from .stage import Stage

Played = dict[str, list[Facts]]
"""The facts after each step, by script."""


async def play_all(
    stage: Stage, families: Sequence[Family], workers: Mapping[str, Stage] = MappingProxyType({})
) -> dict[str, Played]:
    """What came of each family; they have the same settings."""
    for each in (stage, *workers.values()):
        await prepare_node(each)
    gate = asyncio.Semaphore(min(family.at_once for family in families))

    run = secrets.token_hex(4)

    async def one(script: Script) -> list[Facts]:
        async with gate:
            player = FleetPlayer(stage, workers, script, run) if workers else Player(stage, script, run)
            return await player.play()

    scripts = [script for family in families for script in family.scripts]
    played = dict(zip(scripts, await asyncio.gather(*map(one, scripts)), strict=True))
    return {family.name: {script.name: played[script] for script in family.scripts} for family in families}


def by_settings(families: Iterable[Family]) -> list[list[Family]]:
    """Families that one manager can serve at the same time."""
    found: dict[str, list[Family]] = {}
    for family in families:
        found.setdefault(json.dumps([family.settings, family.at_once, family.workers], sort_keys=True), []).append(
            family
        )
    return list(found.values())
