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

from jobrelay.kube import connect
from tests.adopters import clusters

from . import recording
from .manager import Kueue, installed
from .playing import Played, by_settings, play_all
from .scripts import Family, families
from .stage import staged

QUIET: Final = 2.5
"""Kueue batches updates of queues for a second, and what it has parked for another."""


class Theirs:
    """Real Kueue on a cluster of its own."""

    def __init__(self, kubeconfig: pathlib.Path, kueue: Kueue) -> None:
        self._kubeconfig, self._kueue = kubeconfig, kueue

    async def play(self, families: Sequence[Family]) -> dict[str, Played]:
        """What came of families that have the same settings."""
        async with (
            self._kueue.running(families[0].settings),
            connect(str(self._kubeconfig)) as client,
            staged(client, QUIET, probed=families[0].at_once > 1) as stage,
        ):
            return await play_all(stage, families)


@asynccontextmanager
async def theirs(folder: pathlib.Path) -> AsyncIterator[Theirs]:
    async with clusters.bare(folder) as kubeconfig, installed(kubeconfig, folder) as kueue:
        yield Theirs(kubeconfig, kueue)


async def record(chosen: list[Family], runs: int) -> None:
    """Play families several times, and keep what was the same each time."""
    with tempfile.TemporaryDirectory() as folder:
        async with theirs(pathlib.Path(folder)) as kueue:
            for group in by_settings(chosen):
                played = [await kueue.play(group) for _ in range(runs)]
                for family in group:
                    _keep(family, [each[family.name] for each in played])


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
