"""Caches of the mirrors on one worker: one watch per kind in use, of objects with our label only.

Jobs are always watched. Of every other kind that the relay knows, what is left from before is read once; it is
watched while it has originals, or mirrors here, and the worker serves it. So a kind that nobody uses costs nothing.

A worker that serves only some namespaces is watched in each of them. If it is not so restricted and a watch over all
namespaces is forbidden, the namespace of its kubeconfig is watched instead. A kind that the worker does not serve, or
that may not be read, is reported in `unavailable` and tried again later; the worker is used for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from random import Random

from jobrelay.kube import Cache, Client, Clock, KubeError, Object, Resource
from jobrelay.kube.object_budget import ObjectBudget
from jobrelay.relay.signal import Changes
from jobrelay.relay.workers.fitness import why_missing, why_unfit, why_unserved
from jobrelay.relay.workers.kinds_in_use import KindsInUse
from jobrelay.relay.workers.multikueue import WORKLOADS
from jobrelay.relay.workers.part_watches import PartWatches
from jobrelay.relay.workers.proving import MirrorProver, Proofs, Site
from jobrelay.relay.workers.scoped_cache import ScopedCache
from jobrelay.relay.workers.served_kinds import REFUSALS, ServedKinds, Serving
from jobrelay.relay.workers.tasks import until_first
from jobrelay.relay.workers.timing import Timing
from jobrelay.relay.workers.transforms import checked_mirror
from jobrelay.relay.workload_kind import is_built_in
from jobrelay.workloads.names import ORIGIN


class MirrorCaches(Mapping[Resource, ScopedCache]):
    """The caches of one worker by kind.

    `changed` is called when the state of their watches changes, `unfit_changed` when `unfit` does.
    """

    def __init__(
        self,
        client: Client,
        resources: Sequence[Resource],
        proofs: Proofs,
        site: Callable[[], Site],
        changed: Callable[[], None],
        unfit_changed: Callable[[], None],
        *,
        in_use: KindsInUse,
        clock: Clock,
        random: Random,
        timing: Timing,
        budget: ObjectBudget,
    ) -> None:
        self._budget = budget
        self._clock, self._random, self._timing = clock, random, timing
        self._client, self._label_selector = client, f"{ORIGIN}={proofs.origin}"
        self._changed, self._unfit_changed, self._in_use = changed, unfit_changed, in_use
        self._changes = Changes()
        self._served = ServedKinds(
            client, resources, self._look_again, clock=clock, random=random, idle_timeout=timing.silence
        )
        self._unfit: Mapping[str, str] = {}
        self._unread: frozenset[str] = frozenset()
        self._watches = PartWatches(self._served, self._watch_failed, clock=clock, random=random, timing=timing)
        self._caches = {
            resource: ScopedCache(partial(self._cache, resource), MirrorProver(proofs, str(resource), site))
            for resource in resources
        }
        self.uids: set[str] = set()
        """The uids of all mirrors there: pods name their owner by it."""
        for cache in self._caches.values():
            cache.subscribe(self._track_uid)

    def _cache(self, resource: Resource, namespace: str | None) -> Cache:
        return Cache(
            self._client,
            resource,
            namespace,
            label_selector=self._label_selector,
            clock=self._clock,
            random=self._random,
            transform=partial(checked_mirror, kind=resource.kind),
            idle_timeout=self._timing.silence,
            terminal=REFUSALS,
            on_connection_change=self._contact_changed,
            budget=self._budget,
        )

    def __getitem__(self, resource: Resource) -> ScopedCache:
        return self._caches[resource]

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._caches)

    def __len__(self) -> int:
        return len(self._caches)

    @property
    def unavailable(self) -> dict[Resource, str]:
        """By kind: where it may not be read, and why."""
        found = {resource: why_unserved(resource, self._served.state(resource)) for resource in self._used}
        found |= {
            resource: why
            for resource, cache in self._caches.items()
            if (why := why_missing(cache.parts, self._watches.missing))
        }
        return {resource: why for resource, why in found.items() if why}

    @property
    def _used(self) -> list[Resource]:
        """The kinds of workloads in use: Kueue's own objects are there or not."""
        return [resource for resource in self._caches if resource != WORKLOADS and self._in_use.uses(resource)]

    @property
    def kueue(self) -> bool | None:
        """Whether the worker runs Kueue, and what it queues for us has been read; None if that is not known."""
        if WORKLOADS not in self or self._served.state(WORKLOADS) in (Serving.ABSENT, Serving.UNSERVED):
            return False
        return True if self._served.state(WORKLOADS) is Serving.SERVED and self._caches[WORKLOADS].synced else None

    @property
    def unfit(self) -> Mapping[str, str]:
        """By name of a kind in use: why the worker cannot take any workload of it. A new one after each change."""
        return self._unfit

    @property
    def unread(self) -> frozenset[str]:
        """The names of kinds in use, apart from Jobs, whose mirrors have not been read yet."""
        return self._unread

    def sees(self, resource: Resource, namespace: str) -> bool:
        """Whether all mirrors of a kind in a namespace are known at present; for an empty one, in all."""
        if self._served.state(resource) is Serving.ABSENT:
            return True
        parts = [part for part in self._caches[resource].parts if not namespace or part.namespace in (None, namespace)]
        return bool(parts) and all(part.connected for part in parts)

    def is_read(self, resource: Resource) -> bool:
        """Whether what it may hold of a kind has been read, as far as it can be."""
        parts = self._caches[resource].parts
        return self._is_looked_at(resource) or (bool(parts) and all(part in self._watches.missing for part in parts))

    def _look_again(self) -> None:
        """Something changed that decides which watches run and which kinds the worker is fit for."""
        state, missing, used = self._served.state, self._watches.missing, self._used
        reasons = {str(each): why_unfit(each, state(each), self._caches[each].parts, missing) for each in used}
        unfit = {kind: why for kind, why in reasons.items() if why}
        unread = frozenset(str(each) for each in used if not is_built_in(each) and not self.is_read(each))
        changed = (unfit, unread) != (self._unfit, self._unread)
        if changed:
            self._unfit, self._unread = unfit, unread
        self._changes.notify()
        if changed:
            self._unfit_changed()

    @property
    def _parts(self) -> list[Cache]:
        """The caches that decide whether the worker is connected: those of Jobs, if these can be read."""
        parts = [part for resource, cache in self._caches.items() if is_built_in(resource) for part in cache.parts]
        if parts and not all(part in self._watches.missing for part in parts):
            return parts
        return [
            *parts,
            *(part for resource in self._caches if self._is_due(resource) for part in self._caches[resource].parts),
        ]

    @property
    def _available(self) -> list[Cache]:
        return [part for part in self._parts if part not in self._watches.missing]

    @property
    def failure(self) -> KubeError | None:
        """The error that keeps the caches from being current, if there is one."""
        errors = [part.last_error for part in self._available or self._parts]
        return next((error for error in errors if error is not None), None)

    @property
    def current(self) -> bool:
        """Whether all readable Jobs are known and watched; or, where no Jobs may be read, all other mirrors in use."""
        available = self._available
        return bool(available) and all(part.connected for part in available)

    @property
    def unproven(self) -> int:
        """How many objects there look like mirrors, but are not proven to be."""
        return sum(len(cache.unproven) for cache in self._caches.values())

    def judge_again(self) -> None:
        """Look for mirrors among the unproven objects, because keys have changed."""
        for cache in self._caches.values():
            cache.judge_again()

    def start_over(self) -> None:
        """Discard the contents, because the worker is another cluster now."""
        self._served.start_over()
        for cache in self._caches.values():
            cache.start_over()

    async def run(self, namespaces: Sequence[str], fallback: str) -> None:
        """Watch the kinds in use until cancelled, in these namespaces or in all.

        `fallback` is the namespace to watch if a watch over all is forbidden.
        """
        for resource, cache in self._caches.items():
            cache.scope(namespaces if resource.namespaced else ())
        self._watches.keep([part for cache in self._caches.values() for part in cache.parts])
        self._look_again()
        instead = fallback if not namespaces else None
        always = [part for resource in self._caches if is_built_in(resource) for part in self._caches[resource].parts]
        custom = [resource for resource in self._caches if not is_built_in(resource)]
        await until_first(
            *(self._watches.follow(part, instead) for part in always),
            *(self._follow_kind(resource, instead) for resource in custom),
            self._follow_served(),
        )

    def follow_use(self) -> Callable[[], None]:
        """Follow which kinds are in use, also while nothing is watched; returns how to end that."""
        self._look_again()
        return self._in_use.subscribe(self._look_again)

    async def _follow_served(self) -> None:
        """Follow which kinds the worker serves, while there is one that matters."""
        while True:
            await self._changes.until(self._asks)
            await until_first(self._served.run(), self._changes.until(lambda: not self._asks()))

    def _asks(self) -> bool:
        return any(self._matters(resource) for resource in self._caches if not is_built_in(resource))

    def _matters(self, resource: Resource) -> bool:
        """Whether the mirrors of a kind have to be known: it has originals or mirrors, or was not read yet."""
        used = self._in_use.uses(resource) or len(self._caches[resource]) > 0
        return used or (self._in_use.seeks(resource) and not self._is_looked_at(resource))

    def _is_looked_at(self, resource: Resource) -> bool:
        """Whether what there was of a kind is known. What may not be read is tried again, after pauses."""
        return self._caches[resource].synced or self._served.state(resource) in (Serving.UNSERVED, Serving.ABSENT)

    def _is_due(self, resource: Resource) -> bool:
        """Whether a kind has to be watched now."""
        return is_built_in(resource) or (self._served.state(resource) is Serving.SERVED and self._matters(resource))

    async def _follow_kind(self, resource: Resource, fallback: str | None) -> None:
        cache = self._caches[resource]
        while True:
            await self._changes.until(lambda: self._is_due(resource) or self._is_gone(resource))
            if self._is_due(resource):
                parts = (self._watches.follow(part, fallback) for part in cache.parts)
                await until_first(*parts, self._changes.until(lambda: not self._is_due(resource)))
            self._watches.forget(cache.parts)
            if self._is_gone(resource):
                cache.deleted()
            self._look_again()

    def _is_gone(self, resource: Resource) -> bool:
        """Whether mirrors are held of a kind that the worker has no definition of any more."""
        return self._served.state(resource) is Serving.ABSENT and len(self._caches[resource]) > 0

    def _track_uid(self, old: Object | None, new: Object | None) -> None:
        if old is not None:
            self.uids.discard(old.uid)
        if new is not None:
            self.uids.add(new.uid)

    def _watch_failed(self) -> None:
        self._look_again()
        self._changed()

    def _contact_changed(self) -> None:
        self._watches.connection_changed()
        for cache in self._caches.values():
            cache.settle()
        self._look_again()
        self._changed()
