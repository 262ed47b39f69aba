"""The workload kinds that the relay follows on the management cluster, as their definitions come and go.

Every adapter's kind exists from the start, with an empty cache of its originals. Here alone it is decided when that
cache runs: always for Jobs, for every other kind while the management cluster serves it. A kind whose definition is
deleted has lost its originals, so their mirrors are removed. One that is merely not served at present keeps them, since
nothing says that they are gone.

Definitions go while no relay runs, too. Workers are therefore read once for every kind, and if mirrors of one are found
that has no definition, it is made sure of that for a while: then they are removed. What is merely not served has its
mirrors left where they are, and it is told what to do about them.

A kind that cannot be read holds up no other: the relay starts without it, and judges its mirrors when its originals are
known.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Final

from jobrelay.kube import Cache, Client, Clock, KubeError, Object, Resource
from jobrelay.kube.backoff import Backoff
from jobrelay.kube.clock import sleep
from jobrelay.logs import get_logger
from jobrelay.relay.signal import Changes
from jobrelay.relay.workers.kinds_in_use import KindsInUse
from jobrelay.relay.workers.management_cache import management_cache
from jobrelay.relay.workers.reasons import describe
from jobrelay.relay.workers.served_kinds import REFUSALS, ServedKinds, Serving, is_undefined
from jobrelay.relay.workers.tasks import until_first
from jobrelay.relay.workload_kind import WorkloadKind, is_built_in
from jobrelay.workloads import Adapter

log = get_logger(__name__)

_FIRST_RETRY: Final = 0.5
_UNDEFINED_FOR: Final = 60.0
"""How long a kind has to be without a definition before what is left of it on workers is removed; in seconds."""
_LAST_RETRY: Final = 300.0
"""When a kind that may not be read is tried again; in seconds."""
LINGER: Final = 300.0
"""How long a kind counts as used after its last original is gone, so that workers are not watched anew for each one."""


class FollowedKinds:
    """One `WorkloadKind` for each adapter, and which of them are followed; `silence` bounds that of a watch."""

    def __init__(
        self, adapters: Sequence[Adapter], client: Client, *, clock: Clock, random: Random, silence: float
    ) -> None:
        self._client, self._clock, self._random, self._silence = client, clock, random, silence
        self._changes = Changes()
        self._kinds = {adapter.resource: WorkloadKind(adapter, self._cache(adapter.resource)) for adapter in adapters}
        self.kinds = {kind.name: kind for kind in self._kinds.values()}
        """All kinds by name, whether they are followed or not."""
        self._served = ServedKinds(
            client, self._kinds, self._served_changed, clock=clock, random=random, idle_timeout=silence
        )
        self._unreadable: dict[Resource, str] = {}
        self._forgotten: set[str] = set()
        """The kinds that have no originals, since they have no definition any more."""
        self._delegated = dict.fromkeys(self._kinds, 0)
        self._unused_since: dict[Resource, float] = {}
        """When the last original of a kind went, in monotonic time; not for long."""
        self.in_use = KindsInUse(filter(is_built_in, self._kinds))
        for resource, kind in self._kinds.items():
            if not is_built_in(resource):
                kind.originals.subscribe(partial(self._count, kind))
                kind.subscribe_found(self._changes.notify)

    def _cache(self, resource: Resource) -> Cache:
        return management_cache(
            self._client, resource, clock=self._clock, random=self._random, idle_timeout=self._silence,
            terminal=() if is_built_in(resource) else REFUSALS, on_connection_change=self._changes.notify,
        )  # fmt: skip

    @property
    def caches(self) -> tuple[Cache, ...]:
        """The caches of originals, of which only those of followed kinds run."""
        return tuple(kind.originals for kind in self._kinds.values())

    def pod_owner(self, pod: Object) -> str:
        """The uid of the mirror that a pod on a worker belongs to; empty if it belongs to none."""
        for resource, kind in self._kinds.items():
            if self.in_use.seeks(resource) and (owner := kind.adapter.pod_owner(pod)):
                return owner
        return ""

    def problem(self, kind: WorkloadKind) -> str:
        """Why a kind is not followed on the management cluster; empty if it is."""
        resource = kind.adapter.resource
        state = self._served.state(resource)
        if state is Serving.SERVED:
            return self._unreadable.get(resource, "")
        return f"the management cluster does not serve {resource}/{resource.version}"

    async def wait_synced(self) -> None:
        """Return once the originals of all kinds are known, of those that can be read at all."""
        for kind in self._kinds.values():
            await self._changes.until(partial(self._settled, kind))

    def _settled(self, kind: WorkloadKind) -> bool:
        resource, originals = kind.adapter.resource, kind.originals
        if originals.synced.is_set():
            return True
        state = self._served.state(resource)
        failed = resource in self._unreadable or originals.last_error is not None
        return not is_built_in(resource) and state is not Serving.UNKNOWN and (state is not Serving.SERVED or failed)

    async def run(self) -> None:
        """Follow the kinds until cancelled."""
        await until_first(self._served.run(), self._retire(), *map(self._follow, self._kinds.values()))

    async def _retire(self) -> None:
        """Let kinds go that have had no originals for a while."""
        while True:
            await self._changes.until(lambda: bool(self._unused_since))
            resource, since = next(iter(self._unused_since.items()))
            left = since + LINGER - self._clock.monotonic()
            if left > 0:
                await sleep(self._clock, left)
            elif self._unused_since.get(resource) == since:
                del self._unused_since[resource]
                self._update(self._kinds[resource])

    async def _follow(self, kind: WorkloadKind) -> None:
        backoff = Backoff(_FIRST_RETRY, _LAST_RETRY, random=self._random)
        while True:
            await self._changes.until(
                lambda: self._is_served(kind) or self._is_gone(kind) or self._is_defined_again(kind)
            )
            if self._is_gone(kind):
                await self._forget(kind)
                continue
            if self._is_defined_again(kind):
                self._forgotten.discard(kind.name)
                kind.originals.start_over()
                continue
            self._update(kind)
            try:
                await until_first(kind.originals.run(), self._announce(kind, backoff), self._unserved(kind))
            except REFUSALS as error:
                await self._refused(kind, describe(error), backoff)
                continue
            except Exception as error:  # foreign code: an adapter that fails must not end the relay
                if is_built_in(kind.adapter.resource):
                    raise
                kind.originals.start_over()
                await self._refused(kind, f"its adapter failed: {error!r}", backoff)
                continue
            log.info("kind is no longer served", kind=kind.name)
            self._update(kind)

    async def _refused(self, kind: WorkloadKind, why: str, backoff: Backoff) -> None:
        """A kind cannot be read; returns when it is to be tried again."""
        resource = kind.adapter.resource
        if self._unreadable.get(resource) != why:
            log.warning("originals cannot be read", kind=kind.name, reason=why)
        self._unreadable[resource] = why
        self._served.check(resource)
        self._changes.notify()
        self._update(kind)
        await sleep(self._clock, backoff.next())

    async def _announce(self, kind: WorkloadKind, backoff: Backoff) -> None:
        """Say when the originals are known."""
        await kind.originals.wait_synced()
        backoff.reset()
        self._unreadable.pop(kind.adapter.resource, None)
        self._update(kind)
        log.info("following a kind", kind=kind.name, originals=len(kind.originals))
        kind.originals_known()
        await self._unserved(kind)

    async def _unserved(self, kind: WorkloadKind) -> None:
        await self._changes.until(lambda: not self._is_served(kind))

    def _is_gone(self, kind: WorkloadKind) -> bool:
        """Whether originals are held of a kind that has no definition any more, or mirrors of ones never seen."""
        return kind.undefined and (len(kind.originals) > 0 or (kind.has_mirrors and not kind.known))

    async def _forget(self, kind: WorkloadKind) -> None:
        """A kind without a definition has no originals: at once if its end was seen, otherwise when that is sure."""
        if not kind.known:
            log.warning("mirrors of a kind without a definition", kind=kind.name, removed_in=_UNDEFINED_FOR)
            await until_first(self._prove_undefined(kind), self._changes.until(lambda: not kind.undefined))
            if not kind.undefined:
                return
            kind.originals.synced.set()
        self._forgotten.add(kind.name)
        kind.originals.replace(())
        kind.originals_known()

    def _is_defined_again(self, kind: WorkloadKind) -> bool:
        return kind.name in self._forgotten and not kind.undefined

    async def _prove_undefined(self, kind: WorkloadKind) -> None:
        """Return when a kind was found neither defined nor served for a while, by reads that no cache answers."""
        since: float | None = None
        while since is None or self._clock.monotonic() - since < _UNDEFINED_FOR:
            try:
                absent = await is_undefined(self._client, kind.adapter.resource)
            except KubeError as error:
                log.info("not known whether a kind is defined", kind=kind.name, error=str(error))
                absent = False
            now = self._clock.monotonic()
            since = (now if since is None else since) if absent else None
            await sleep(self._clock, _UNDEFINED_FOR / 4)

    def _served_changed(self) -> None:
        for resource, kind in self._kinds.items():
            kind.undefined = self._served.state(resource) is Serving.ABSENT
            self._update(kind)
        self._changes.notify()

    def _is_served(self, kind: WorkloadKind) -> bool:
        return self._served.state(kind.adapter.resource) is Serving.SERVED

    def _count(self, kind: WorkloadKind, old: Object | None, new: Object | None) -> None:
        """Count the delegated originals of a kind that not every cluster has."""
        resource = kind.adapter.resource
        before = self._delegated[resource]
        now = self._delegated[resource] = before + _delegated(kind, new) - _delegated(kind, old)
        if now:
            self._unused_since.pop(resource, None)
        elif before:
            self._unused_since[resource] = self._clock.monotonic()
            self._changes.notify()
        self._update(kind)

    def _update(self, kind: WorkloadKind) -> None:
        resource = kind.adapter.resource
        if not is_built_in(resource):
            sought = self._served.state(resource) is not Serving.UNKNOWN
            used = self._delegated[resource] > 0 or resource in self._unused_since
            self.in_use.update(resource, sought=sought, used=used)


def _delegated(kind: WorkloadKind, original: Object | None) -> bool:
    return original is not None and kind.adapter.read(original).managed_by in kind.adapter.managers
