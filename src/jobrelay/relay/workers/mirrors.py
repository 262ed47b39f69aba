"""Live copies of what the relay has on one worker: one watch per kind, of our own objects only.

A kind that the worker does not have, or does not let us see, is set aside, said in `unavailable`, and tried again after a
while; the worker serves the others. Where a watch over all namespaces is forbidden, the one namespace that the worker's
kubeconfig names is watched instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from random import Random

from jobrelay.kube import Cache, Client, Clock, Forbidden, KubeError, MethodNotAllowed, NotFound, Object, Resource
from jobrelay.kube.clock import sleep
from jobrelay.relay.workers.reasons import describe
from jobrelay.relay.workers.tasks import until_first
from jobrelay.relay.workers.timing import Timing
from jobrelay.relay.workers.trim import sound

__all__ = ["Mirrors"]

_NOT_TO_BE_HAD = (Forbidden, NotFound, MethodNotAllowed)


class Mirrors(Mapping[Resource, Cache]):
    """The caches of one worker by kind; `changed` is called when their contact with it changes."""

    def __init__(
        self,
        client: Client,
        resources: Sequence[Resource],
        label_selector: str,
        changed: Callable[[], None],
        *,
        clock: Clock,
        random: Random,
        timing: Timing,
    ) -> None:
        self._clock, self._random, self._timing = clock, random, timing
        self._changed = changed
        self.unavailable: dict[Resource, str] = {}
        self._caches = {
            resource: Cache(
                client,
                resource,
                label_selector=label_selector,
                clock=clock,
                random=random,
                keep=partial(_sound, resource),
                silence=timing.silence,
                final=_NOT_TO_BE_HAD,
                on_contact=partial(self._contact, resource),
            )
            for resource in resources
        }
        self.uids: set[str] = set()
        """Of everything that the relay has there: pods name their owner by it."""
        for cache in self._caches.values():
            cache.subscribe(self._remember)

    def __getitem__(self, resource: Resource) -> Cache:
        return self._caches[resource]

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._caches)

    def __len__(self) -> int:
        return len(self._caches)

    @property
    def failure(self) -> KubeError | None:
        """Why not all that can be known is known, if something failed."""
        available = [cache for resource, cache in self.items() if resource not in self.unavailable]
        errors = [cache.last_error for cache in available or self.values()]
        return next((error for error in errors if error is not None), None)

    @property
    def current(self) -> bool:
        """Whether everything that the worker lets us see of its mirrors is known and followed."""
        available = [cache for resource, cache in self.items() if resource not in self.unavailable]
        return bool(available) and all(cache.connected for cache in available)

    def start_over(self) -> None:
        """The worker is another cluster now: believe only what it says from here on."""
        for cache in self.values():
            cache.start_over()

    async def run(self, namespace: str) -> None:
        """Follow all kinds until cancelled; `namespace` is where to look if we may not look everywhere."""
        await until_first(*(self._follow(resource, namespace) for resource in self))

    async def _follow(self, resource: Resource, namespace: str) -> None:
        cache = self[resource]
        while True:
            try:
                await cache.run()
            except _NOT_TO_BE_HAD as error:
                if isinstance(error, Forbidden) and cache.namespace is None and resource.namespaced:
                    _look(cache, namespace)
                    continue
                _look(cache, None)
                self.unavailable[resource] = describe(error)
                self._changed()
            await sleep(self._clock, self._timing.unavailable * (0.5 + self._random.random()))

    def _remember(self, old: Object | None, new: Object | None) -> None:
        if old is not None:
            self.uids.discard(old.uid)
        if new is not None:
            self.uids.add(new.uid)

    def _contact(self, resource: Resource) -> None:
        if self[resource].connected:
            self.unavailable.pop(resource, None)
        self._changed()


def _look(cache: Cache, namespace: str | None) -> None:
    if cache.namespace != namespace:
        cache.namespace = namespace
        cache.start_over()


def _sound(resource: Resource, obj: Object) -> Object:
    return sound(obj, resource.kind)
