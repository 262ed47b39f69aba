"""Whether this relay admits workloads: where Kueue's API is served and no manager of Kueue's leads.

Kueue's manager holds a Lease while it leads. It is followed, so that a relay stops to admit when Kueue is started
beside it, and begins when Kueue's lease has run out. Two that admit would each give away the same quota.
"""

from __future__ import annotations

import asyncio
import pathlib
from datetime import datetime, timedelta
from random import Random
from typing import Final, Literal

import msgspec

from jobrelay.apimachinery.times import parse_time
from jobrelay.kube import Cache, Client, Clock, Forbidden, Object
from jobrelay.kube.clock import Timer
from jobrelay.kube.resource import LEASES
from jobrelay.logs import get_logger
from jobrelay.queueing.configuration import Configuration, read_configuration
from jobrelay.queueing.definitions import ensure_definitions
from jobrelay.queueing.gate import QueueingGate
from jobrelay.queueing.names import KUEUE_LEASE
from jobrelay.queueing.resources import KINDS
from jobrelay.relay.gate import MakeGate
from jobrelay.relay.workers.served_kinds import ServedKinds, Serving
from jobrelay.relay.workers.tasks import until_first

__all__ = ["Mode", "QueueingPresence"]

log = get_logger(__name__)

Mode = Literal["auto", "on", "off"]
_SILENCE: Final = 150.0


class _LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: str | None = None


class _Lease(msgspec.Struct, frozen=True):
    spec: _LeaseSpec = _LeaseSpec()


def held_until(lease: Object) -> datetime | None:
    """When a Lease expires unless it is renewed; None if it is not held."""
    spec = lease.decode(_Lease).spec
    if not spec.holder_identity or not spec.renew_time:
        return None
    return parse_time(spec.renew_time) + timedelta(seconds=spec.lease_duration_seconds or 0)


class QueueingPresence:
    """Follows what decides whether to admit. `changed` is set when that is no longer what `gate` has returned."""

    def __init__(self, client: Client, mode: Mode, config: pathlib.Path | None, clock: Clock) -> None:
        self.changed = asyncio.Event()
        self._client, self._mode, self._clock = client, mode, clock
        self._configuration = read_configuration(config) if config is not None else Configuration()
        self._leases = Cache(
            client, LEASES, clock=clock, field_selector=f"metadata.name={KUEUE_LEASE}", terminal=(Forbidden,)
        )
        self._leases.subscribe(lambda old, new: self._compare())
        self._served = ServedKinds(client, KINDS, self._compare, clock=clock, random=Random(), idle_timeout=_SILENCE)
        self._admits: bool | None = None
        self._timer: Timer | None = None
        self._known = asyncio.Event()

    async def prepare(self) -> None:
        """Install the definitions that are missing, if that is asked for and allowed."""
        if self._mode != "on":
            return
        try:
            created = await ensure_definitions(self._client, self._clock)
        except Forbidden as error:
            log.warning("no permission to install the definitions of queues", reason=str(error))
        else:
            if created:
                log.info("installed the definitions of queues", names=created)

    async def run(self) -> None:
        """Follow until cancelled."""
        if self._mode == "off":
            self._known.set()
            await asyncio.Event().wait()
        await until_first(self._follow_leases(), self._served.run())

    async def gate(self) -> MakeGate | None:
        """What makes the gate of a relay; None if it is not to admit."""
        await self._known.wait()
        self._admits = self.admits
        self.changed.clear()
        if not self._admits:
            if self._mode != "off":
                log.info("queues are not admitted here", reason=self.why_not)
            return None
        configuration = self._configuration
        return lambda parts: QueueingGate(parts, configuration)

    @property
    def admits(self) -> bool:
        """Whether workloads are to be admitted here now."""
        return self._mode != "off" and not self.why_not

    @property
    def why_not(self) -> str:
        """Why workloads are not admitted here; empty if they are."""
        missing = [str(each) for each in KINDS if self._served.state(each) is not Serving.SERVED]
        if missing:
            return f"{missing[0]} is not served"
        now = self._clock.now()
        holders = [each for each in self._leases if (until := held_until(each)) is not None and until > now]
        return f"Kueue's manager leads: Lease {holders[0].key}" if holders else ""

    async def _follow_leases(self) -> None:
        try:
            await until_first(self._leases.run(), self._announce())
        except Forbidden as error:
            log.info("no permission to see whether Kueue's manager leads", reason=str(error))
            self._leases.synced.set()
            self._compare()
            await asyncio.Event().wait()

    async def _announce(self) -> None:
        await self._leases.wait_synced()
        self._compare()
        await asyncio.Event().wait()

    def _compare(self) -> None:
        unknown = any(self._served.state(each) is Serving.UNKNOWN for each in KINDS)
        if not unknown and self._leases.synced.is_set():
            self._known.set()
        self._look_again()
        if self._admits is not None and self._admits != self.admits:
            self.changed.set()

    def _look_again(self) -> None:
        """Look again when the lease of Kueue's manager has run out."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = self._clock.now()
        times = [until for each in self._leases if (until := held_until(each)) is not None and until > now]
        if times:
            self._timer = self._clock.call_later((max(times) - now).total_seconds() + 1.0, self._compare)
