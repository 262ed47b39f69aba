"""Plays one script to a management cluster and its workers: the same steps, and some about MultiKueue's objects.

The workers are registered for all scripts. On each cluster a script has a namespace and names of its own, as scripts of
one cluster have them.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

from jobrelay.kube.resource import SECRETS
from jobrelay.relay.multikueue.views import CONFIGS
from jobrelay.workloads.names import MULTIKUEUE
from tests.adopters.kueues import KUEUE

from . import objects as short
from .objects import Obj
from .picture import Facts, picture
from .player import Player
from .scripts import Script
from .stage import Stage


class FleetPlayer(Player):
    """One script on a management cluster and its workers."""

    def __init__(self, stage: Stage, workers: Mapping[str, Stage], script: Script, run: str = "") -> None:
        super().__init__(stage, script, run)
        self.workers = {name: Player(each, script, run) for name, each in workers.items()}

    async def begin(self) -> None:
        for player in self.workers.values():
            await player.begin()
        await super().begin()

    @property
    def stages(self) -> Sequence[Stage]:
        return (self.stage, *(player.stage for player in self.workers.values()))

    def picture(self, error: Obj | None = None) -> Facts:
        facts = super().picture(error)
        for name, player in self.workers.items():
            there = picture(player.stage, player.names)
            facts |= {f"{name} {fact}": value for fact, value in there.items()}
        return facts

    async def clean_up(self) -> None:
        await super().clean_up()
        for player in self.workers.values():
            await player.clean_up()

    async def do_at(self, steps: Obj) -> None:
        """Steps on workers, by their names."""
        for name, step in steps.items():
            await self.workers[name].do(step)

    async def do_job(self, jobs: Obj) -> None:
        """Jobs for MultiKueue, unless their spec names another manager."""
        whole = {name: {**one, "spec": {"managedBy": MULTIKUEUE, **one.get("spec", {})}} for name, one in jobs.items()}
        await super().do_job(whole)

    async def do_multikueue(self, checks: Obj) -> None:
        """Checks of MultiKueue with the names of their workers; one without has no MultiKueueConfig."""
        for name, clusters in checks.items():
            if clusters is not None:
                await self.do_config({name: clusters})
            await self.create(short.CHECKS, short.multikueue_check(self.names, name))

    async def do_config(self, configs: Obj) -> None:
        """MultiKueueConfigs with the names of their workers."""
        for name, clusters in configs.items():
            spec = {"clusters": [self._cluster(each) for each in clusters]}
            await self.create(CONFIGS, {"metadata": {"name": self.names.named(name)}, "spec": spec})

    async def do_cluster(self, clusters: Obj) -> None:
        """MultiKueueClusters, each with the text of its kubeconfig; one without has no Secret."""
        for name, kubeconfig in clusters.items():
            if kubeconfig is not None:
                await self.do_secret({name: kubeconfig})
            await self.create(short.MULTIKUEUE_CLUSTERS, short.multikueue_cluster(self.names, name))

    async def do_secret(self, secrets: Obj) -> None:
        """Kubeconfigs, given as text, where Kueue looks for them."""
        for name, text in secrets.items():
            data = {"kubeconfig": base64.b64encode(text.encode()).decode()}
            await self.client.create(SECRETS, {"metadata": {"name": self.names.named(name)}, "data": data}, KUEUE)

    def _cluster(self, name: str) -> str:
        return name if name in self.workers else self.names.named(name)
