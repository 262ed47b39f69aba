"""Removes copies from a worker that no mirror uses any more.

A copy is removed when no mirror there has used it for a while, by what this process has seen while it led and the
worker was connected. A creation whose answer was lost, by this process or the leader before it, has shown its mirror by
then. So a crash between the creation of a copy and that of its mirror leaves nothing behind, and takes nothing from
anyone.

What cannot be seen counts as used: a copy stays while mirrors of a kind in its namespace are not watched, unless it is
known that no original of that kind has a run on this worker.

Copies are listed once for each connection, by label and without what they contain; everything after that is counted in
memory. Objects that only carry our labels have no valid proof and are not touched.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobrelay.kube import Forbidden, KubeError, NotFound, Resource
from jobrelay.kube.clock import sleep
from jobrelay.logs import get_logger
from jobrelay.relay.copy_rules import CopyRules
from jobrelay.relay.copying.held import HeldCopies
from jobrelay.relay.dependencies.copies import COPY, RESOURCES
from jobrelay.relay.dependencies.renaming import copies_of
from jobrelay.relay.state import RelayState
from jobrelay.relay.workers import WorkerConnection
from jobrelay.workloads import ObjectName
from jobrelay.workloads.names import ORIGIN

log = get_logger(__name__)


class CopySweep:
    """Removes unused copies from one worker, for as long as it runs."""

    def __init__(self, worker: WorkerConnection, copies: HeldCopies, state: RelayState) -> None:
        self._worker, self._copies, self._state = worker, copies, state
        self._settings, self._clock = state.settings, state.clock
        self._listed: float | None = None
        """The `connected_since` of the connection for which copies were listed."""

    async def run(self) -> None:
        """Sweep until cancelled."""
        while True:
            await sleep(self._clock, self._settings.copy_grace / 8)
            if not self._worker.connected:
                self._copies.out_of_sight()
                continue
            try:
                await self._sweep()
            except KubeError as error:
                log.info("copies not swept", worker=self._worker.name, error=str(error))

    async def _sweep(self) -> None:
        since = self._worker.connected_since
        if self._listed != since:
            await self._list()
            self._listed = since
        used = self._used()
        sight = {
            namespace: all_in_sight(self._worker, self._state, namespace)
            for namespace in {each.namespace for each in self._copies}
        }
        kept = {each for each in self._copies if each in used or not sight[each.namespace]}
        for target in self._copies.unused(kept, self._settings.copy_grace):
            log.info("removing a copy", worker=self._worker.name, copy=str(target))
            await self._copies.remove(target)

    def _used(self) -> set[ObjectName]:
        """What mirrors name as their copies, also those that are not proven to be mirrors."""
        mirrors = (each for cache in self._worker.mirrors.values() for held in (cache, cache.unproven) for each in held)
        return {source._replace(name=name) for mirror in mirrors for source, name in copies_of(mirror).items()}

    async def _list(self) -> None:
        selector = f"{ORIGIN}={self._settings.origin},{COPY}"
        for resource, namespace in self._places(self._settings.copies):
            before = [each for each in self._copies if _is_in(each, resource, namespace)]
            try:
                listed = await self._worker.client.list_metadata(resource, namespace, label_selector=selector)
            except (Forbidden, NotFound) as error:
                log.info("copies not listed", worker=self._worker.name, error=str(error))
                continue
            found = {ObjectName(resource, each.namespace, each.name): each for each in listed.items}
            ours = {target: each.uid for target, each in found.items() if self._copies.proven(each, target)}
            self._copies.listed(before, ours)

    def _places(self, rules: CopyRules) -> Iterator[tuple[Resource, str | None]]:
        """Every kind, with each namespace to look in; None for all."""
        for kind, allowed in rules.namespaces.items():
            resource, served = RESOURCES[kind], self._worker.spec.namespaces
            names: list[str] = sorted(allowed) if allowed is not None else list(served) if resource.namespaced else []
            if not names:
                yield resource, None
            for name in names:
                if not served or name in served:
                    yield resource, name


def all_in_sight(worker: WorkerConnection, state: RelayState, namespace: str) -> bool:
    """Whether all mirrors of a namespace that may have an original are known, or for an empty one those of all."""
    return all(
        worker.mirrors.sees(kind.adapter.resource, namespace) or not state.may_run_on(kind, worker.name, namespace)
        for kind in state.kinds.values()
    )


def _is_in(target: ObjectName, resource: Resource, namespace: str | None) -> bool:
    return target.resource == resource and namespace in (None, target.namespace)
