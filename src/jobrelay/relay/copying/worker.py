"""What workloads need on one worker: asks whether it is there, and has copies made of what is missing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from jobrelay.kube.resource import SERVICEACCOUNTS
from jobrelay.relay.copying.held import HeldCopies
from jobrelay.relay.copying.lookup import ObjectLookup, look_for
from jobrelay.relay.copying.sources import CopySources
from jobrelay.relay.dependencies.answers import NO_ANSWERS, DependencyAnswers, Presence, missing
from jobrelay.relay.dependencies.copies import CopyFailed, make_copy
from jobrelay.relay.dependencies.texts import lacks
from jobrelay.relay.proofs import cluster_binding
from jobrelay.relay.snapshot import WorkloadSnapshot
from jobrelay.relay.workers import WorkerConnection
from jobrelay.workloads import ObjectName


class WorkerDependencies:
    """The dependencies of workloads on one worker; `copies` are those that were made there."""

    def __init__(
        self, worker: WorkerConnection, answers: DependencyAnswers, sources: CopySources, copies: HeldCopies
    ) -> None:
        self._worker, self._answers, self._sources, self.copies = worker, answers, sources, copies

    async def ask(self, snapshot: WorkloadSnapshot) -> None:
        """Ask about what the workload names and is not known; raises KubeError if a cluster does not answer."""
        name, rules = self._worker.name, snapshot.settings.copies
        for target in snapshot.unanswered(name):
            looked = await look_for(self._worker.client, target)
            presence, detail = looked.presence, looked.detail
            if rules.allow(target) and not self._worker.is_self and self._needs_copy(target, looked):
                detail = detail or await self._sources.problem(target)
                presence = Presence.MISSING if detail else Presence.COPYABLE
            self._answers.record(name, target, presence, detail)
            if _names_others(target):
                self._answers.define(target, await self._sources.find(target))

    def _needs_copy(self, target: ObjectName, looked: ObjectLookup) -> bool:
        """Whether an object is missing, or is our own copy under its own name, which stays only while it is used."""
        if looked.found is None or target.resource != SERVICEACCOUNTS:
            return looked.presence is Presence.MISSING
        return self.copies.proven(looked.found, target)

    @asynccontextmanager
    async def provided(self, snapshot: WorkloadSnapshot) -> AsyncIterator[dict[ObjectName, str]]:
        """Have everything there that can be copied, and keep it there for the duration of the block.

        Yields the names of the copies by their source. Raises CopyFailed, and KubeError if a cluster does not answer
        or refuses a copy.
        """
        await self.ask(snapshot)
        answers = self._answers.known.get(self._worker.name, NO_ANSWERS)
        if lacking := missing(snapshot.required, answers, snapshot.fixed):
            raise CopyFailed(f"it {lacks(lacking)}")
        known = {each: answers[each].presence for each in snapshot.dependencies if each in answers}
        wanted = [each for each, presence in known.items() if presence is Presence.COPYABLE]
        wanted = [each for each in wanted if each not in snapshot.fixed]
        async with AsyncExitStack() as pins:
            yield {source: await self._copy(snapshot, source, pins) for source in wanted}

    async def _copy(self, snapshot: WorkloadSnapshot, source: ObjectName, pins: AsyncExitStack) -> str:
        cluster = cluster_binding(self._worker.name, snapshot.workers[self._worker.name].identity)
        found = await self._sources.read(source)
        copy = make_copy(found, source, snapshot.keys, snapshot.settings.origin, cluster)
        pins.enter_context(self.copies.pinned(copy.target))
        await self.copies.ensure(copy)
        return copy.target.name


def _names_others(target: ObjectName) -> bool:
    """Whether an object may name others: custom resources may, built-in kinds of dependencies do not."""
    group = target.resource.group
    return "." in group and not group.endswith(".k8s.io")
