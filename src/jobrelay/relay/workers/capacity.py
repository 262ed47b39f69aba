"""Feeds the capacity of a worker from watches of its nodes and pods, where they may be read.

Nothing else depends on these watches: if nodes or pods cannot be read, do not exist or are slow to load, the worker's
capacity is unknown, which is reported but does not exclude the worker. What was forbidden is tried again later, since
roles change.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from random import Random

from jobrelay.kube import Cache, Client, Clock, Forbidden, MethodNotAllowed, NotFound, Object, Resource
from jobrelay.kube.clock import Timer, sleep
from jobrelay.kube.object_budget import BudgetExceeded, ObjectBudget
from jobrelay.kube.resource import NODES, PODS
from jobrelay.relay.placement.capacity import POD_OWNER, CapacityTracker
from jobrelay.relay.workers.reasons import describe
from jobrelay.relay.workers.tasks import until_first
from jobrelay.relay.workers.timing import Timing
from jobrelay.relay.workers.transforms import node_for_capacity, pod_for_capacity

_REFUSALS = (Forbidden, NotFound, MethodNotAllowed)
_RUNNING = "status.phase!=Succeeded,status.phase!=Failed"
_REPORT_DELAY = 0.1


class CapacityFeed:
    """Updates a tracker from one worker; `changed` is called when something changed, at a limited rate.

    `on_budget` is called when `exceeded` may have changed.
    """

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
        budget: ObjectBudget,
        on_budget: Callable[[], None],
    ) -> None:
        self._budget, self._on_budget = budget, on_budget
        self._tracker, self._changed = tracker, changed
        self._clock, self._random, self._timing = clock, random, timing
        self._timer: Timer | None = None
        self.nodes = self._cache(client, NODES, node_for_capacity)
        self.pods = self._cache(client, PODS, partial(pod_for_capacity, pod_owner=pod_owner), _RUNNING)
        self.pods.add_index(POD_OWNER, lambda pod: filter(None, (pod.metadata.labels.get(POD_OWNER),)))
        self.nodes.subscribe(partial(self._apply, tracker.node))
        self.pods.subscribe(partial(self._apply, tracker.pod))

    def _cache(
        self, client: Client, resource: Resource, keep: Callable[[Object], Object], field_selector: str = ""
    ) -> Cache:
        return Cache(
            client,
            resource,
            field_selector=field_selector,
            clock=self._clock,
            random=self._random,
            transform=keep,
            idle_timeout=self._timing.silence,
            terminal=_REFUSALS,
            on_connection_change=self._contact_changed,
            budget=self._budget,
        )

    @property
    def caches(self) -> tuple[Cache, Cache]:
        return self.nodes, self.pods

    def pods_of(self, owner: str) -> tuple[Object, ...]:
        """The pods of a mirror (by uid) that have not ended, as far as they are known."""
        return self.pods.by_index(POD_OWNER, owner)

    @property
    def unknown(self) -> str:
        """Why the capacity is not known; empty if it is."""
        for cache in self.caches:
            plural = cache.resource.plural
            if isinstance(cache.last_error, _REFUSALS):
                return f"its {plural} may not be read: {describe(cache.last_error)}"
            if not cache.synced.is_set():
                return f"its {plural} have not been read yet"
        return "" if len(self.nodes) else "it lists no nodes"

    @property
    def exceeded(self) -> BudgetExceeded | None:
        """Why not all nodes and pods are held, if there are too many."""
        errors = (cache.last_error for cache in self.caches)
        return next((error for error in errors if isinstance(error, BudgetExceeded)), None)

    def start_over(self) -> None:
        """Discard the contents, because the worker is another cluster now."""
        for cache in self.caches:
            cache.start_over()

    async def run(self) -> None:
        """Watch nodes and pods until cancelled."""
        try:
            await until_first(*map(self._follow, self.caches))
        finally:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    async def _follow(self, cache: Cache) -> None:
        while True:
            with suppress(*_REFUSALS):
                await cache.run()
            await sleep(self._clock, 2 * self._timing.unavailable * (1 + self._random.random()))

    def _apply(
        self, track: Callable[[Object | None, Object | None], None], old: Object | None, new: Object | None
    ) -> None:
        track(old, new)
        self._caches_changed()

    def _contact_changed(self) -> None:
        self._on_budget()
        self._caches_changed()

    def _caches_changed(self) -> None:
        """Report all changes within a short time at once."""
        self._tracker.known(self.unknown)
        if self._timer is None:
            self._timer = self._clock.call_later(_REPORT_DELAY, self._report)

    def _report(self) -> None:
        self._timer = None
        self._changed()
