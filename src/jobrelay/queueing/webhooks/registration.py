"""Keeps the webhook configurations in step with whether this relay admits, and with where it is reached.

Where the relay runs in the management cluster, `jobrelay install --queueing` has created them without any webhooks, and
the relay fills them. Where it runs elsewhere, it creates them itself. Only the leader does this. A leader that does not
admit, since Kueue does, takes its webhooks out.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final

from jobrelay.kube import Cache, Client, Clock, Forbidden, KubeError, NotFound, Resource, merge_patch
from jobrelay.kube.backoff import Backoff
from jobrelay.kube.clock import sleep
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import MUTATINGWEBHOOKCONFIGURATIONS, VALIDATINGWEBHOOKCONFIGURATIONS
from jobrelay.logs import get_logger
from jobrelay.queueing import names
from jobrelay.queueing.webhooks.configurations import NAME, make_configuration
from jobrelay.relay.api.registration import Registered
from jobrelay.relay.workers.tasks import until_first

__all__ = ["KeptRegistration", "WebhookRegistration"]

log = get_logger(__name__)

_KINDS: Final = (MUTATINGWEBHOOKCONFIGURATIONS, VALIDATINGWEBHOOKCONFIGURATIONS)
_LONGEST_PAUSE: Final = 30.0


class KeptRegistration(ABC):
    """Registers something with the API server, and again whenever the objects in some caches were changed."""

    def __init__(self, caches: Sequence[Cache], what: str, *, clock: Clock) -> None:
        self._caches, self._what, self._clock = caches, what, clock
        self._changed = asyncio.Event()
        for cache in caches:
            cache.subscribe(lambda old, new: self._changed.set())
        self.registered = asyncio.Event()
        """Set when everything has been as it should be."""

    @abstractmethod
    async def _register(self) -> None:
        """Change what is not as it should be; raises KubeError."""

    async def run(self) -> None:
        """Run until cancelled; without permission, nothing is registered."""
        try:
            await until_first(*(cache.run() for cache in self._caches), self._keep())
        except Forbidden as error:
            log.info(f"no permission to register {self._what}", reason=str(error))
            await asyncio.Event().wait()

    async def _keep(self) -> None:
        for cache in self._caches:
            await cache.wait_synced()
        backoff = Backoff(1.0, _LONGEST_PAUSE)
        while True:
            self._changed.clear()
            try:
                await self._register()
            except Forbidden:
                raise
            except KubeError as error:
                log.warning(f"cannot register {self._what}", error=str(error))
                await sleep(self._clock, backoff.next())
                continue
            backoff.reset()
            self.registered.set()
            await self._changed.wait()


class WebhookRegistration(KeptRegistration):
    """Registers webhooks for objects of some kinds; `admits` is false for a relay that leaves queues to Kueue."""

    def __init__(
        self, client: Client, registered: Registered, queued: Sequence[Resource], *, admits: bool, clock: Clock
    ) -> None:
        self._client, self._creates = client, bool(registered.host) and admits
        wanted = registered if admits else None
        self._wanted = {kind: make_configuration(kind, wanted, queued) for kind in _KINDS}
        self._found = {
            kind: Cache(client, kind, clock=clock, field_selector=f"metadata.name={NAME}", terminal=(Forbidden,))
            for kind in self._wanted
        }
        super().__init__(list(self._found.values()), "the webhooks of queues", clock=clock)

    async def _register(self) -> None:
        for kind, body in self._wanted.items():
            await self._register_kind(kind, body)

    async def _register_kind(self, kind: Resource, body: dict[str, Any]) -> None:
        found = self._found[kind].get(Key("", NAME))
        if found is None:
            if self._creates:
                await self._client.apply(kind, body, field_manager=names.MANAGER, force=True)
                log.info("registered the webhooks of queues", kind=kind.kind, name=NAME)
            return
        if is_kept(found.decode().get("webhooks") or [], body["webhooks"]):
            return
        try:
            change = merge_patch({"webhooks": body["webhooks"]})
            await self._client.patch(kind, NAME, change, field_manager=names.MANAGER)
        except NotFound:
            return  # the watch shows it
        log.info("registered the webhooks of queues", kind=kind.kind, name=NAME, webhooks=len(body["webhooks"]))


def is_kept(found: Any, wanted: Any) -> bool:
    """Whether what was found is what is wanted, apart from fields that API servers add."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(is_kept(found.get(name), each) for name, each in wanted.items())
    if isinstance(wanted, list):
        if not wanted:
            return not found
        return isinstance(found, list) and len(found) == len(wanted) and all(map(is_kept, found, wanted))
    return bool(found == wanted)
