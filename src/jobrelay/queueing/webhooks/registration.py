"""Keeps the webhook configurations in step with whether this relay admits, and with where it is reached.

Where the relay runs in the management cluster, `jobrelay install --queueing` has created them without any webhooks, and
the relay fills them. Where it runs elsewhere, it creates them itself. Only the leader does this. A leader that does not
admit, since Kueue does, takes its webhooks out.
"""

from __future__ import annotations

import asyncio
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

__all__ = ["WebhookRegistration"]

log = get_logger(__name__)

_KINDS: Final = (MUTATINGWEBHOOKCONFIGURATIONS, VALIDATINGWEBHOOKCONFIGURATIONS)
_LONGEST_PAUSE: Final = 30.0


class WebhookRegistration:
    """Registers webhooks for objects of some kinds, and again whenever the configurations were changed.

    `admits` is false for a relay that leaves queues to Kueue.
    """

    def __init__(
        self, client: Client, registered: Registered, queued: Sequence[Resource], *, admits: bool, clock: Clock
    ) -> None:
        self._client, self._clock, self._creates = client, clock, bool(registered.host) and admits
        wanted = registered if admits else None
        self._wanted = {kind: make_configuration(kind, wanted, queued) for kind in _KINDS}
        self._changed = asyncio.Event()
        self._found = {
            kind: Cache(client, kind, clock=clock, field_selector=f"metadata.name={NAME}", terminal=(Forbidden,))
            for kind in self._wanted
        }
        for cache in self._found.values():
            cache.subscribe(lambda old, new: self._changed.set())
        self.registered = asyncio.Event()
        """Set when the configurations have been what they should be."""

    async def run(self) -> None:
        """Run until cancelled; without permission, objects are not checked."""
        try:
            await until_first(*(cache.run() for cache in self._found.values()), self._keep())
        except Forbidden as error:
            log.info("no permission to register the webhooks of queues", reason=str(error))
            await asyncio.Event().wait()

    async def _keep(self) -> None:
        for cache in self._found.values():
            await cache.wait_synced()
        backoff = Backoff(1.0, _LONGEST_PAUSE)
        while True:
            self._changed.clear()
            try:
                for kind, body in self._wanted.items():
                    await self._register(kind, body)
            except Forbidden:
                raise
            except KubeError as error:
                log.warning("the webhooks of queues are not registered", name=NAME, error=str(error))
                await sleep(self._clock, backoff.next())
                continue
            backoff.reset()
            self.registered.set()
            await self._changed.wait()

    async def _register(self, kind: Resource, body: dict[str, Any]) -> None:
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
