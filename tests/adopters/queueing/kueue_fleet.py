"""Clusters that all run real Kueue: one alone, or a management cluster with workers that are registered there."""

from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from jobrelay.kube import Client, connect
from tests.adopters.kueues import Installation

from .manager import MANAGER, Kueue, installed
from .objects import MULTIKUEUE_CLUSTERS, Obj
from .playing import Played, play_all
from .scripts import Family
from .stage import FOLLOWED, Stage, staged

MANAGEMENT: Final = "management"


@dataclass
class KueueFleet:
    """Clusters with Kueue, by name; all but the first are workers."""

    folder: pathlib.Path
    kubeconfigs: Mapping[str, pathlib.Path]
    kueues: Mapping[str, Kueue]

    @property
    def workers(self) -> Sequence[str]:
        return [name for name in self.kubeconfigs if name != MANAGEMENT]

    @asynccontextmanager
    async def running(self, settings: Obj) -> AsyncIterator[Installation]:
        """Kueue at work everywhere, with settings of its own on the management cluster."""
        async with AsyncExitStack() as stack:
            for name, kueue in self.kueues.items():
                await stack.enter_async_context(kueue.running(settings if name == MANAGEMENT else {}))
            clients = {
                name: await stack.enter_async_context(connect(str(kubeconfig)))
                for name, kubeconfig in self.kubeconfigs.items()
            }
            it = Installation(self.folder, self.kubeconfigs, clients, MANAGER)
            await it.register()
            yield it

    async def play(self, it: Installation, families: Sequence[Family], quiet: float) -> dict[str, Played]:
        """What comes of families that have the same settings."""
        probed = families[0].at_once > 1
        async with AsyncExitStack() as stack:

            async def follow(client: Client, *, home: bool) -> Stage:
                followed = (*FOLLOWED, MULTIKUEUE_CLUSTERS) if self.workers and home else FOLLOWED
                return await stack.enter_async_context(staged(client, quiet, probed=probed and home, followed=followed))

            home = await follow(it.home, home=True)
            workers = {name: await follow(it.clients[name], home=False) for name in self.workers}
            return await play_all(home, families, workers)


@asynccontextmanager
async def kueue_fleet(folder: pathlib.Path, kubeconfigs: Mapping[str, pathlib.Path]) -> AsyncIterator[KueueFleet]:
    """Kueue's CRDs and webhooks on clusters, the first of which is the management cluster."""
    async with AsyncExitStack() as stack:
        places = {name: folder / f"kueue-of-{name}" for name in kubeconfigs}
        for place in places.values():
            place.mkdir()
        kueues = {
            name: await stack.enter_async_context(installed(kubeconfig, places[name]))
            for name, kubeconfig in kubeconfigs.items()
        }
        yield KueueFleet(folder, kubeconfigs, kueues)
