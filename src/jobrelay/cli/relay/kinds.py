"""The workload kinds of a relay: built in, of installed packages, in files, and in ConfigMaps, which are followed.

A relay has the same kinds for as long as it runs. When ConfigMaps change what is described, the command ends the relay
and starts another one with the new kinds, as it does when it has lost its leadership; nothing on clusters is touched by
that. A description that cannot be used is left out. That is logged, and reported by an event of its ConfigMap.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from jobrelay.kube import Cache, Client, EventNote, EventRecorder, Forbidden, Object
from jobrelay.kube.events import ObjectReference
from jobrelay.kube.resource import CONFIGMAPS
from jobrelay.logs import get_logger
from jobrelay.relay.workers.tasks import until_first
from jobrelay.workloads import Adapter, load_adapters
from jobrelay.workloads.kind_files import KIND_FILE, GivenKind, KindProblem, read_config_maps
from jobrelay.workloads.registry import usable_kinds

__all__ = ["KindSource", "changes"]

log = get_logger(__name__)


class KindSource:
    """The kinds in files, which were read, and in the ConfigMaps of a namespace that have the label `KIND_FILE`.

    `changed` is set when what can be used is no longer what `adapters` has returned. `run` follows the ConfigMaps.
    """

    def __init__(self, client: Client, namespace: str, files: Sequence[GivenKind], identity: str) -> None:
        self.changed = asyncio.Event()
        self._files = files
        self._config_maps = Cache(
            client, CONFIGMAPS, namespace, label_selector=f"{KIND_FILE}=true", terminal=(Forbidden,)
        )
        self._config_maps.subscribe(self._compare)
        self._recorder = EventRecorder(client, "jobrelay.dev/relay", identity)
        self._used: list[GivenKind] | None = None
        self._told: set[KindProblem] = set()

    async def run(self) -> None:
        """Follow the ConfigMaps until cancelled; without permission there are none."""
        await until_first(self._follow(), self._recorder.run())

    async def _follow(self) -> None:
        try:
            await self._config_maps.run()
        except Forbidden as error:
            log.info("no permission to read ConfigMaps with workload kinds", reason=str(error))
            self._config_maps.synced.set()
            await asyncio.Event().wait()

    async def adapters(self) -> tuple[Adapter, ...]:
        """A new set of adapters, of what can be used."""
        await self._config_maps.wait_synced()
        before, (self._used, problems) = self._used, self._look()
        self.changed.clear()
        self._report(problems)
        if before is not None:
            log.info("workload kinds of ConfigMaps", **changes(before, self._used))
        return load_adapters(given=self._used)

    def _look(self) -> tuple[list[GivenKind], list[KindProblem]]:
        found = read_config_maps(self._config_maps)
        taken, conflicts = usable_kinds(self._files, found.kinds)
        return taken, [*found.problems, *conflicts]

    def _compare(self, old: Object | None, new: Object | None) -> None:
        if self._used is None:
            return  # nobody has asked yet
        taken, problems = self._look()
        if taken != self._used:
            self.changed.set()  # problems are reported when the new kinds are read
        else:
            self.changed.clear()
            self._report(problems)

    def _report(self, problems: Sequence[KindProblem]) -> None:
        for problem in problems:
            if problem in self._told:
                continue
            note = f"a workload kind cannot be used: {problem.message}"
            log.warning(note)
            config_map = self._config_maps.get(problem.config_map) if problem.config_map is not None else None
            if config_map is not None:
                told = [EventNote("KindRejected", note, "Warning")]
                self._recorder.record(ObjectReference.of(config_map, CONFIGMAPS), told)
        self._told = set(problems)


def changes(before: Sequence[GivenKind], now: Sequence[GivenKind]) -> dict[str, list[str]]:
    """Which kinds were added, removed and changed."""
    old, new = ({str(each.description.api_resource): each for each in kinds} for kinds in (before, now))
    return {
        "added": sorted(new.keys() - old.keys()),
        "removed": sorted(old.keys() - new.keys()),
        "changed": sorted(kind for kind in old.keys() & new.keys() if old[kind] != new[kind]),
    }
