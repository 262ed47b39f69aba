"""The room on a worker, where it may be looked at.

Nodes and running pods are watched like mirrors are, but nothing depends on them: a worker that does not let us read them,
has none, or is slow to show them is one whose room is unknown, which is said and never held against it. What was refused is
tried again after a good while, since roles change.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from random import Random

from jobrelay.kube import Cache, Client, Clock, Forbidden, MethodNotAllowed, NotFound, Object, Resource
from jobrelay.kube.clock import Timer, sleep
from jobrelay.kube.resource import NODES, PODS
from jobrelay.relay.placement.capacity import CapacityTracker
from jobrelay.relay.workers.reasons import describe
from jobrelay.relay.workers.tasks import until_first
from jobrelay.relay.workers.timing import Timing
from jobrelay.relay.workers.trim import node_for_capacity, pod_for_capacity

__all__ = ["CapacityFeed"]

_REFUSALS = (Forbidden, NotFound, MethodNotAllowed)
_RUNNING = "status.phase!=Succeeded,status.phase!=Failed"
_SETTLE = 0.1


class CapacityFeed:
    """Keeps a tracker fed from one worker; `changed` is called, not too often, when there is something new."""

    def __init__(
        self,
        client: Client,
        tracker: CapacityTracker,
        changed: Callable[[], None],
        *,
        pod_owner: Callable[[Object], str],
        clock: Clock,
        random: Random,
        timing: Timing,
    ) -> None:
        self._tracker = tracker
        self._changed = changed
        self._clock = clock
        self._random = random
        self._timing = timing
        self._pending: Timer | None = None
        self.nodes = self._cache(client, NODES, node_for_capacity)
        self.pods = self._cache(client, PODS, partial(pod_for_capacity, pod_owner=pod_owner), _RUNNING)
        self.nodes.subscribe(self._node)
        self.pods.subscribe(self._pod)

    def _cache(
        self, client: Client, resource: Resource, keep: Callable[[Object], Object], field_selector: str = ""
    ) -> Cache:
        return Cache(
            client,
            resource,
            field_selector=field_selector,
            clock=self._clock,
            random=self._random,
            keep=keep,
            silence=self._timing.silence,
            final=_REFUSALS,
            on_contact=self._note,
        )

    @property
    def caches(self) -> tuple[Cache, Cache]:
        return self.nodes, self.pods

    @property
    def unknown(self) -> str:
        """Why the room is not known; empty when it is."""
        for cache in self.caches:
            plural = cache.resource.plural
            if isinstance(cache.last_error, _REFUSALS):
                return f"its {plural} may not be read: {describe(cache.last_error)}"
            if not cache.synced.is_set():
                return f"its {plural} have not been read yet"
        return "" if len(self.nodes) else "it lists no nodes"

    def start_over(self) -> None:
        """The worker is another cluster now: believe only what it says from here on."""
        for cache in self.caches:
            cache.start_over()

    async def run(self) -> None:
        """Follow nodes and pods until cancelled."""
        await until_first(*map(self._follow, self.caches))

    async def _follow(self, cache: Cache) -> None:
        while True:
            with suppress(*_REFUSALS):
                await cache.run()
            await sleep(self._clock, 2 * self._timing.unavailable * (1 + self._random.random()))

    def _node(self, old: Object | None, new: Object | None) -> None:
        self._tracker.node(old, new)
        self._note()

    def _pod(self, old: Object | None, new: Object | None) -> None:
        self._tracker.pod(old, new)
        self._note()

    def _note(self) -> None:
        """Tell of a change once for all that happen within a moment."""
        self._tracker.known(self.unknown)
        if self._pending is None:
            self._pending = self._clock.call_later(_SETTLE, self._tell)

    def _tell(self) -> None:
        self._pending = None
        self._changed()
