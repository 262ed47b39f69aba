"""Caches of the mirrors on one worker: one watch per kind, of objects with our label only.

A worker that serves only some namespaces is watched in each of them. If it is not so restricted and a watch over all
namespaces is forbidden, the namespace of its kubeconfig is watched instead. A kind that the worker does not serve, or
that may not be read, is reported in `unavailable` and tried again later; the worker is used for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from random import Random

from jobrelay.kube import Cache, Client, Clock, Forbidden, KubeError, MethodNotAllowed, NotFound, Object, Resource
from jobrelay.kube.clock import sleep
from jobrelay.kube.object_budget import ObjectBudget
from jobrelay.relay.workers.proving import MirrorProver, Proofs, Site
from jobrelay.relay.workers.reasons import describe
from jobrelay.relay.workers.scoped_cache import ScopedCache
from jobrelay.relay.workers.tasks import until_first
from jobrelay.relay.workers.timing import Timing
from jobrelay.relay.workers.transforms import checked_mirror
from jobrelay.workloads.names import ORIGIN

_UNAVAILABLE = (Forbidden, NotFound, MethodNotAllowed)


class MirrorCaches(Mapping[Resource, ScopedCache]):
    """The caches of one worker by kind; `changed` is called when the state of their watches changes."""

    def __init__(
        self,
        client: Client,
        resources: Sequence[Resource],
        proofs: Proofs,
        site: Callable[[], Site],
        changed: Callable[[], None],
        *,
        clock: Clock,
        random: Random,
        timing: Timing,
        budget: ObjectBudget,
    ) -> None:
        self._budget = budget
        self._clock, self._random, self._timing = clock, random, timing
        self._client, self._label_selector = client, f"{ORIGIN}={proofs.origin}"
        self._changed = changed
        self._missing: dict[Cache, str] = {}
        """The caches that cannot be filled at present, and why."""
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
            terminal=_UNAVAILABLE,
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
        found: dict[Resource, str] = {}
        for resource, cache in self.items():
            several = len(cache.parts) > 1
            parts = [
                f"in namespace {part.namespace}: {self._missing[part]}" if several else self._missing[part]
                for part in cache.parts
                if part in self._missing
            ]
            if parts:
                found[resource] = "; ".join(parts)
        return found

    @property
    def _parts(self) -> list[Cache]:
        return [part for cache in self.values() for part in cache.parts]

    @property
    def _available(self) -> list[Cache]:
        return [part for part in self._parts if part not in self._missing]

    @property
    def failure(self) -> KubeError | None:
        """The error that keeps the caches from being current, if there is one."""
        errors = [part.last_error for part in self._available or self._parts]
        return next((error for error in errors if error is not None), None)

    @property
    def current(self) -> bool:
        """Whether all readable mirrors are known and watched."""
        available = self._available
        return bool(available) and all(part.connected for part in available)

    @property
    def unproven(self) -> int:
        """How many objects there look like mirrors, but are not proven to be."""
        return sum(len(cache.unproven) for cache in self.values())

    def judge_again(self) -> None:
        """Look for mirrors among the unproven objects, because keys have changed."""
        for cache in self.values():
            cache.judge_again()

    def start_over(self) -> None:
        """Discard the contents, because the worker is another cluster now."""
        for cache in self.values():
            cache.start_over()

    async def run(self, namespaces: Sequence[str], fallback: str) -> None:
        """Watch all kinds until cancelled, in these namespaces or in all.

        `fallback` is the namespace to watch if a watch over all is forbidden.
        """
        parts = [
            part for resource, cache in self.items() for part in cache.scope(namespaces if resource.namespaced else ())
        ]
        self._missing = {part: why for part, why in self._missing.items() if part in parts}
        await until_first(*(self._follow(part, fallback if not namespaces else None) for part in parts))

    async def _follow(self, part: Cache, fallback: str | None) -> None:
        while True:
            try:
                await part.run()
            except _UNAVAILABLE as error:
                if fallback is not None:
                    if isinstance(error, Forbidden) and part.namespace is None and part.resource.namespaced:
                        _rescope(part, fallback)
                        continue
                    _rescope(part, None)
                self._missing[part] = describe(error)
                self._changed()
            await sleep(self._clock, self._timing.unavailable * (0.5 + self._random.random()))

    def _track_uid(self, old: Object | None, new: Object | None) -> None:
        if old is not None:
            self.uids.discard(old.uid)
        if new is not None:
            self.uids.add(new.uid)

    def _contact_changed(self) -> None:
        self._missing = {part: why for part, why in self._missing.items() if not part.connected}
        for cache in self.values():
            cache.settle()
        self._changed()


def _rescope(cache: Cache, namespace: str | None) -> None:
    if cache.namespace != namespace:
        cache.namespace = namespace
        cache.start_over()
