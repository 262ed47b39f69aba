"""Placement for plans: the relay's `Placer`, with candidates that are kept between placements.

Between two placements of Jobs that are alike only a few workers of a thousand have changed, and only these are
evaluated again. The order of the last changes says which.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Final

from jobrelay.planning.shapes import JobShape
from jobrelay.planning.worker import PlannedWorker
from jobrelay.relay.claims import choose_claim
from jobrelay.relay.model import Claimant, WorkerFacts
from jobrelay.relay.placement import CandidatePool, PlacementRequest, Placer, PolicyPlugins

_MOST_POOLS: Final = 512


class _KeptPool:
    __slots__ = ("pool", "refused_at", "seen")

    def __init__(self, pool: CandidatePool) -> None:
        self.pool = pool
        self.seen = 0
        """The last change of a worker that it includes."""
        self.refused_at = -1
        """The last change at which there was no worker for a Job."""


class Chooser:
    """Chooses workers for Jobs; `live` is the number of unfinished Jobs of a worker, `kept_for` who has claimed it."""

    def __init__(
        self,
        policy: str,
        workers: Sequence[PlannedWorker],
        live: Callable[[str], int],
        kept_for: Callable[[str], Claimant | None],
    ) -> None:
        self._placer = Placer(PolicyPlugins(clock=lambda: 0.0))  # a plan depends on no real time
        self._policy = self._placer.parse(policy)
        self._workers, self._live, self._kept_for = workers, live, kept_for
        self._restricted = any(worker.plan.namespaces for worker in workers)
        self._facts: list[WorkerFacts | None] = [None] * len(workers)
        self._change = 1
        self._changed_at = dict.fromkeys(range(len(workers)), 1)
        """By position: the last change of each worker, in the order of these changes."""
        self._pools: dict[Hashable, _KeptPool] = {}

    def changed(self, worker: PlannedWorker) -> None:
        """Something that placement knows about a worker has changed."""
        self._change += 1
        self._facts[worker.position] = None
        del self._changed_at[worker.position]
        self._changed_at[worker.position] = self._change

    def facts(self, position: int) -> WorkerFacts:
        """A worker as it is now."""
        found = self._facts[position]
        if found is None:
            worker = self._workers[position]
            found = self._facts[position] = worker.facts(self._live(worker.name), self._kept_for(worker.name))
        return found

    def place(self, shape: JobShape, seed: str, leaves: PlannedWorker | None = None, why: str = "") -> str | None:
        """The worker that a Job goes to, if there is one; `leaves` is the worker that it moves away from."""
        kept = self._pool(shape, leaves, why)
        if kept.refused_at == self._change and not self._policy.plugins:
            return None  # an equal Job has just been refused, and no worker has changed since
        self._update(kept)
        chosen = self._placer.choose(kept.pool, shape.demand, _request(shape, seed, leaves, why), self._policy)
        if chosen is None:
            kept.refused_at = self._change
        return chosen

    def has_room(self, shape: JobShape, seed: str, worker: PlannedWorker) -> bool:
        """Whether a worker can take a Job now, which it may be kept free for."""
        facts = self.facts(worker.position)
        return self._placer.has_room(shape.demand, replace(shape.request, seed=seed), facts, self._policy)

    def claim(self, shape: JobShape) -> str:
        """The worker that a Job without room claims; empty if there is none."""
        facts = [self.facts(position) for position in range(len(self._workers))]
        return choose_claim(self._placer.place(shape.demand, shape.request, facts, self._policy).trace.candidates)

    def explain(self, shape: JobShape) -> str:
        """Why there is no worker for a Job."""
        facts = [self.facts(position) for position in range(len(self._workers))]
        return self._placer.place(shape.demand, shape.request, facts, self._policy).sentence

    def _pool(self, shape: JobShape, leaves: PlannedWorker | None, why: str) -> _KeptPool:
        asked = shape.request
        namespace = asked.namespace if self._restricted else ""
        key = (shape.requests, shape.pods, asked.pinned, asked.preferred, str(asked.selector), namespace, leaves, why)
        found = self._pools.get(key)
        if found is None:
            if len(self._pools) >= _MOST_POOLS:
                self._pools.clear()
            pool = self._placer.pool(shape.demand, _request(shape, "", leaves, why), self._policy)
            found = self._pools[key] = _KeptPool(pool)
            for position in range(len(self._workers)):
                pool.update(position, self.facts(position))
            found.seen = self._change
        return found

    def _update(self, kept: _KeptPool) -> None:
        for position in reversed(self._changed_at):
            if self._changed_at[position] <= kept.seen:
                break
            kept.pool.update(position, self.facts(position))
        kept.seen = self._change


def _request(shape: JobShape, seed: str, leaves: PlannedWorker | None, why: str) -> PlacementRequest:
    if leaves is None:
        return replace(shape.request, seed=seed)
    return replace(shape.request, seed=seed, previous=leaves.name, excluded={leaves.name: why})
