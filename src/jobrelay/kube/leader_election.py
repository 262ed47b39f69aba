"""Leader election on a `coordination.k8s.io/v1` Lease.

The candidate whose name is in the Lease leads as long as it renews the Lease. Clocks of different machines are never
compared: a candidate takes over only after it has seen the Lease unchanged for `leaseDurationSeconds` by its own
monotonic clock. The times in the Lease are for people.

The leader stops `renew_deadline` seconds after its last successful renewal, counted from before that request was sent.
That is shorter than `lease_duration`, so it has stopped before another candidate may begin. On a clean stop the work
ends first and the Lease is released after it, so that the successor does not have to wait.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping
from random import Random
from typing import Any

import msgspec

from jobrelay.apimachinery.times import format_micro_time
from jobrelay.logs import get_logger

from .client import Client
from .clock import Clock, SystemClock, deadline, sleep
from .errors import KubeError, NotFound
from .objects import Object
from .resource import LEASES

__all__ = ["LeaderElection", "LeadershipLost", "new_identity"]

log = get_logger(__name__)

_JITTER = 1.2


def new_identity() -> str:
    """A name for a candidate that no other candidate has."""
    return f"{socket.gethostname()}_{secrets.token_hex(4)}"


class LeadershipLost(KubeError):
    """The Lease was not renewed in time; what the leader ran has been cancelled."""


class _LeaseSpec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    lease_transitions: int | None = None
    acquire_time: str | None = None


class _LeaseView(msgspec.Struct, frozen=True):
    spec: _LeaseSpec = _LeaseSpec()


class LeaderElection:
    """One candidate for the Lease `namespace/name`.

    `on_lost` is called when leadership is lost, before the leader's work is cancelled. `annotations` are on the Lease
    while this candidate leads, so that others can find the leader.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        namespace: str,
        identity: str,
        *,
        lease_duration: float = 15.0,
        renew_deadline: float = 10.0,
        retry_period: float = 2.0,
        clock: Clock | None = None,
        random: Random | None = None,
        on_lost: Callable[[], None] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        if not retry_period * _JITTER < renew_deadline < lease_duration:
            raise ValueError("leader election needs retry_period * 1.2 < renew_deadline < lease_duration")
        self.name = name
        self.namespace = namespace
        self.identity = identity
        self._key = f"{namespace}/{name}"
        self._client = client
        self._lease_duration = lease_duration
        self._renew_deadline = renew_deadline
        self._retry_period = retry_period
        self._clock = clock or SystemClock()
        self._random = random or Random()
        self.known = asyncio.Event()
        """Set once the holder of the Lease is known."""
        self._on_lost = on_lost
        self._annotations = dict(annotations or {})
        self._observed: Object | None = None
        self._observed_at = 0.0
        self._renewed_at: float | None = None

    @property
    def spare(self) -> float:
        """Seconds between the moment a leader stops and the earliest moment at which another may begin."""
        return self._lease_duration - self._renew_deadline

    @property
    def is_leader(self) -> bool:
        """Whether this candidate leads at this moment."""
        return self._renewed_at is not None and self._clock.monotonic() < self._renewed_at + self._renew_deadline

    @property
    def leader(self) -> str:
        """The identity of the last known holder of the Lease."""
        return self._spec.holder_identity or ""

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Wait for leadership, then run `lead`.

        Returns when `lead` returns. If leadership is lost, cancels `lead` and raises `LeadershipLost`.
        """
        await self._acquire()
        leading = asyncio.ensure_future(lead())
        renewing = asyncio.ensure_future(self._renew())
        try:
            await asyncio.wait({leading, renewing}, return_when=asyncio.FIRST_COMPLETED)
            if not leading.done():
                self._lose()
        finally:
            await _cancel(leading)
            await _cancel(renewing)
            await self._release()
        if leading.cancelled():
            raise LeadershipLost(f"lease {self._key} was not renewed by {self.identity} in time")
        leading.result()

    async def _acquire(self) -> None:
        while not await self._try():
            await sleep(self._clock, self._retry_period * (1 + self._random.random() * (_JITTER - 1)))
        log.info("leader election won", lease=self._key, identity=self.identity)

    async def _renew(self) -> None:
        """Renew the Lease until it is lost."""
        while True:
            await sleep(self._clock, self._retry_period)
            if not await self._try() and (not self.is_leader or self.leader not in ("", self.identity)):
                return

    def _lose(self) -> None:
        log.warning("leadership lost", lease=self._key, identity=self.identity)
        self._renewed_at = None
        if self._on_lost is not None:
            self._on_lost()

    async def _try(self) -> bool:
        """Try once to acquire or renew the Lease, within the time that is left."""
        started = self._clock.monotonic()
        left = self._renew_deadline
        if self._renewed_at is not None:
            left = self._renewed_at + self._renew_deadline - started
        try:
            async with deadline(self._clock, left):
                taken = await self._take()
        except (KubeError, TimeoutError) as error:
            log.info("lease not written", lease=self._key, error=str(error) or "no answer in time")
            self._observed_stale()
            return False
        if taken:
            self._renewed_at = started
        self.known.set()
        return taken

    async def _take(self) -> bool:
        if self._observed is None or self.leader != self.identity:
            try:
                self._observe(await self._client.get(LEASES, self.name, self.namespace))
            except NotFound:
                self._observe(await self._client.create(LEASES, self._body({}, fresh=True)))
                return True
            if self._held_by_another:
                return False
        assert self._observed is not None
        body = self._body(self._observed.decode(), fresh=self.leader != self.identity)
        self._observe(await self._client.update(LEASES, body))
        return True

    def _observed_stale(self) -> None:
        """Make the next attempt read the own Lease first, since a failed write may have changed it."""
        if self._observed is not None and self.leader == self.identity:
            self._observed = None

    @property
    def _spec(self) -> _LeaseSpec:
        return self._observed.decode(_LeaseView).spec if self._observed else _LeaseSpec()

    @property
    def _held_by_another(self) -> bool:
        spec = self._spec
        if not spec.holder_identity or spec.holder_identity == self.identity:
            return False
        return self._clock.monotonic() < self._observed_at + (spec.lease_duration_seconds or 0)

    def _observe(self, lease: Object) -> None:
        if self._observed is None or self._observed.resource_version != lease.resource_version:
            self._observed_at = self._clock.monotonic()
        self._observed = lease

    def _body(self, lease: dict[str, Any], *, fresh: bool) -> dict[str, Any]:
        spec = self._spec
        now = format_micro_time(self._clock.now())
        transitions = spec.lease_transitions or 0
        changed: dict[str, Any] = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": max(1, round(self._lease_duration)),
            "acquireTime": now if fresh else spec.acquire_time or now,
            "renewTime": now,
            "leaseTransitions": transitions + 1 if fresh and self._observed is not None else transitions,
        }
        metadata = lease.get("metadata", {"name": self.name, "namespace": self.namespace})
        if self._annotations:
            metadata = metadata | {"annotations": metadata.get("annotations", {}) | self._annotations}
        return {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": metadata,
            "spec": lease.get("spec", {}) | changed,
        }

    async def _release(self) -> None:
        """Release the Lease if it is still held; if that fails, it expires."""
        ours = self.is_leader and self.leader == self.identity
        self._renewed_at = None
        if self._observed is None or not ours:
            return
        body = self._body(self._observed.decode(), fresh=False)
        body["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1}
        for name in self._annotations:
            body["metadata"]["annotations"].pop(name)
        try:
            async with deadline(self._clock, self._renew_deadline):
                self._observe(await self._client.update(LEASES, body))
        except (KubeError, TimeoutError) as error:
            log.info("lease not released", lease=self._key, error=str(error) or "no answer in time")


async def _cancel(task: asyncio.Future[None]) -> None:
    task.cancel()
    await asyncio.wait({task})
