"""Plays scripts to real Kueue, and records them.

python -m tests.adopters.queueing.theirs                           # records all families
python -m tests.adopters.queueing.theirs --only borrowing,checks   # records some
"""

from __future__ import annotations

import argparse
import asyncio
import pathlib
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from tests.adopters import clusters

from . import recording
from .kueue_fleet import MANAGEMENT, KueueFleet, kueue_fleet
from .playing import Played, by_settings
from .scripts import Family, families

QUIET: Final = 2.5
"""Kueue batches updates of queues for a second, and what it has parked for another."""
FLEET_QUIET: Final = 5.0
"""MultiKueue looks at what workers tell it after a second, and at what it has put off after two."""


@asynccontextmanager
async def theirs(folder: pathlib.Path, workers: Sequence[str]) -> AsyncIterator[KueueFleet]:
    """Real Kueue on real clusters of its own."""
    async with clusters.bare(folder, MANAGEMENT, *workers) as kubeconfigs, kueue_fleet(folder, kubeconfigs) as fleet:
        yield fleet


async def play(
    chosen: Sequence[Family], folder: pathlib.Path, runs: int = 1
) -> AsyncIterator[tuple[Family, list[Played]]]:
    """Each family with what came of it in each run."""
    groups = by_settings(chosen)
    for workers in dict.fromkeys(group[0].workers for group in groups):
        place = folder / f"with-{len(workers)}-workers"
        place.mkdir()
        async with theirs(place, workers) as fleet:
            for group in (each for each in groups if each[0].workers == workers):
                played = [await _play(fleet, group) for _ in range(runs)]
                for family in group:
                    yield family, [each[family.name] for each in played]


async def _play(fleet: KueueFleet, group: Sequence[Family]) -> dict[str, Played]:
    async with fleet.running(group[0].settings) as it:
        return await fleet.play(it, group, FLEET_QUIET if fleet.workers else QUIET)


async def record(chosen: list[Family], runs: int) -> None:
    """Play families several times, and keep what was the same each time."""
    with tempfile.TemporaryDirectory() as folder:
        async for family, played in play(chosen, pathlib.Path(folder), runs):
            _keep(family, played)


def _keep(family: Family, runs: list[Played]) -> None:
    found = {one.name: recording.agreed([each[one.name] for each in runs]) for one in family.scripts}
    recording.save(family.name, found)
    varying = sum(len(step.varying) for steps in found.values() for step in steps)
    print(f"{family.name}: {len(found)} scripts, {varying} facts that vary", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="names of families, separated by commas")
    parser.add_argument("--runs", type=int, default=2)
    options = parser.parse_args()
    asyncio.run(record(families(options.only), options.runs))


if __name__ == "__main__":
    main()
