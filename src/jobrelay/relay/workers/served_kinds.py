"""Which of some kinds a cluster serves, kept current as CustomResourceDefinitions come and go.

One watch of the metadata of definitions tells which exist, and that one has changed. Whether a definition is
established and serves the version that is wanted, the discovery document of that version tells. Where definitions may
not be read, discovery is polled, after pauses that grow while nothing changes.

An absent definition proves that there are no objects of its kind, since they are deleted with it. That a kind is merely
not served proves nothing: its definition may not be established yet, or serve other versions only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from enum import StrEnum
from random import Random
from typing import Final

from jobrelay.kube import Cache, Client, Clock, Forbidden, Key, KubeError, MethodNotAllowed, NotFound, Object, Resource
from jobrelay.kube.backoff import Backoff
from jobrelay.kube.clock import deadline, sleep
from jobrelay.kube.discovery import served_of, serves
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS
from jobrelay.logs import get_logger
from jobrelay.relay.workers.tasks import until_first
from jobrelay.relay.workers.transforms import name_only
from jobrelay.relay.workload_kind import is_built_in

log = get_logger(__name__)

REFUSALS: Final = (Forbidden, NotFound, MethodNotAllowed)
"""Errors that say that a kind cannot be read at all."""
_TIMEOUT: Final = 15.0
_FIRST_POLL: Final = 1.0
_LAST_POLL: Final = 30.0
_WATCH_AGAIN: Final = 600.0
"""When it is tried again to watch definitions, since roles change; in seconds."""


class Serving(StrEnum):
    """What is known about a kind on a cluster."""

    UNKNOWN = "unknown"
    SERVED = "served"
    UNSERVED = "unserved"
    """Not served; whether it has objects cannot be seen."""
    ABSENT = "absent"
    """Not defined: there are no objects."""


class ServedKinds:
    """The kinds of one cluster among `resources`; `changed` is called after each change."""

    def __init__(
        self,
        client: Client,
        resources: Iterable[Resource],
        changed: Callable[[], None],
        *,
        clock: Clock,
        random: Random,
        idle_timeout: float,
    ) -> None:
        self._client, self._changed, self._clock = client, changed, clock
        self._states = {each: Serving.SERVED if is_built_in(each) else Serving.UNKNOWN for each in resources}
        self._custom = [each for each in self._states if not is_built_in(each)]
        self._due = dict.fromkeys(self._custom)
        """The kinds whose discovery document has to be read."""
        self._refused = False
        """Whether definitions may not be read."""
        self._wake = asyncio.Event()
        self._backoff = Backoff(_FIRST_POLL, _LAST_POLL, random=random)
        self._definitions = Cache(
            Client(client.transport, clock=clock, timeout=_TIMEOUT, retries=0, metadata_only=True),
            CUSTOMRESOURCEDEFINITIONS,
            clock=clock,
            random=random,
            transform=name_only,
            idle_timeout=idle_timeout,
            terminal=REFUSALS,
            on_connection_change=self._wake.set,
        )
        self._definitions.subscribe(self._definition_changed)

    def state(self, resource: Resource) -> Serving:
        return self._states[resource]

    def check(self, resource: Resource) -> None:
        """Look again at a kind: the cluster answered as if it did not serve it."""
        self._due[resource] = None
        self._wake.set()

    def start_over(self) -> None:
        """Forget everything, because it is another cluster now. Only to be called while `run` is not running."""
        self._definitions.start_over()
        self._refused = False
        self._states |= dict.fromkeys(self._custom, Serving.UNKNOWN)
        self._due = dict.fromkeys(self._custom)

    async def run(self) -> None:
        """Keep the states current until cancelled; without kinds that need a definition nothing is asked."""
        if not self._custom:
            await asyncio.Event().wait()
        self._wake.set()
        await until_first(self._follow_definitions(), self._judge())

    async def _follow_definitions(self) -> None:
        while True:
            try:
                await self._definitions.run()
            except REFUSALS as error:
                log.info("definitions of kinds may not be read, discovery is polled", error=str(error))
                self._refused = True
                self._wake.set()
            await sleep(self._clock, _WATCH_AGAIN)

    def _definition_changed(self, old: Object | None, new: Object | None) -> None:
        definition = new or old
        assert definition is not None
        named = [each for each in self._custom if str(each) == definition.name]
        if named:
            self._due |= dict.fromkeys(named)
            self._wake.set()

    async def _judge(self) -> None:
        while True:
            await self._wait()
            self._refused = self._refused and not self._definitions.connected
            if not self._refused and not self._definitions.synced.is_set():
                continue
            try:
                await self._ask()
            except KubeError as error:
                log.info("discovery not read", error=str(error))

    async def _wait(self) -> None:
        """Until something changed, or it is time to look again at what no watch reports."""
        unsettled = self._refused or any(map(self._exists, self._due))
        if self._wake.is_set():
            self._backoff.reset()
        elif unsettled:
            try:
                async with deadline(self._clock, self._backoff.next()):
                    await self._wake.wait()
            except TimeoutError:
                return
        await self._wake.wait()
        self._wake.clear()

    async def _ask(self) -> None:
        asked = self._custom if self._refused else [each for each in self._due if self._exists(each)]
        for each in asked:
            self._due.pop(each, None)
        try:
            served = await served_of(self._client, asked)
        except BaseException:
            self._due |= dict.fromkeys(asked)
            raise
        states = {each: Serving.SERVED if each in served else Serving.UNSERVED for each in asked}
        if not self._refused:
            self._due |= {each: None for each in asked if each not in served}
            states |= {each: Serving.ABSENT for each in self._custom if not self._exists(each)}
        if any(self._states[each] is not state for each, state in states.items()):
            self._states |= states
            self._backoff.reset()
            self._changed()

    def _exists(self, resource: Resource) -> bool:
        return Key("", str(resource)) in self._definitions


async def is_undefined(client: Client, resource: Resource) -> bool:
    """Whether a kind has neither a definition nor anything else that serves it, by consistent reads.

    Raises KubeError if that cannot be found out: definitions may not be read, or the server behind its API group does
    not answer.
    """
    try:
        await client.get(CUSTOMRESOURCEDEFINITIONS, str(resource))
    except NotFound:
        return not await serves(client, resource)
    return False
