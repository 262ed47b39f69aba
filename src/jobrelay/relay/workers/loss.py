"""When each worker was lost, for longer than the relay lives.

Work of a lost worker is started elsewhere after a time, and that time must not begin again whenever the relay does. One
ConfigMap on the management cluster therefore holds the losses that last: {worker: {"lostSince": ..., "reason": ...}}.
Short ones are never written. Only the leader writes, each worker under its own key by a merge patch, so that writers cannot
undo each other.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from random import Random

import msgspec

from jobrelay.apimachinery.times import format_micro_time
from jobrelay.kube import AlreadyExists, Client, Clock, KubeError, NotFound, merge_patch
from jobrelay.kube.backoff import Backoff
from jobrelay.kube.clock import sleep
from jobrelay.kube.resource import CONFIGMAPS
from jobrelay.relay.workers.link import Loss

__all__ = ["NAME", "LossRecord"]

log = logging.getLogger(__name__)

NAME = "jobrelay-workers"
LASTING = 5.0
_LOOK_EVERY = 1.0


class _Data(msgspec.Struct):
    data: dict[str, str] | None = None


class _Entry(msgspec.Struct, rename="camel"):
    lost_since: datetime
    reason: str = ""


class LossRecord:
    """Knows and keeps the losses of all workers."""

    def __init__(
        self,
        client: Client,
        namespace: str,
        *,
        clock: Clock,
        writes: Callable[[], bool] = lambda: True,
        random: Random | None = None,
    ) -> None:
        self._client, self._namespace = client, namespace
        self._clock, self._writes = clock, writes
        self._random = random or Random()
        self._losses: dict[str, Loss] = {}
        self._written: dict[str, str] = {}
        self._current = False
        """Whether `_written` is what is written: nobody else writes while we lead."""

    @property
    def losses(self) -> Mapping[str, Loss]:
        """The losses that go on at present, by worker."""
        return self._losses

    def lost(self, worker: str, since: datetime, reason: str) -> None:
        """A worker does not answer; said again, only a new time counts."""
        known = self._losses.get(worker)
        if known is None or known.since != since:
            self._losses[worker] = Loss(since, reason)

    def answered(self, worker: str) -> None:
        """A worker is there."""
        self._losses.pop(worker, None)

    async def load(self) -> None:
        """Read what was recorded before; tries until it could be read."""
        backoff = Backoff(random=self._random)
        while True:
            try:
                self._written = await self._read()
            except KubeError as error:
                log.warning("the record of lost workers cannot be read yet: %s", error)
                await sleep(self._clock, backoff.next())
                continue
            recorded = {worker: loss for worker, text in self._written.items() if (loss := _parse(worker, text))}
            self._losses = recorded | self._losses
            return

    async def run(self) -> None:
        """Write down losses that last, and the ends of those that were written, until cancelled."""
        backoff = Backoff(random=self._random)
        while True:
            await sleep(self._clock, _LOOK_EVERY)
            if not self._writes():
                self._current = False
                continue
            try:
                if not self._current:
                    self._written, self._current = await self._read(), True
                await self._write()
                backoff.reset()
            except KubeError as error:
                log.warning("losses of workers cannot be recorded: %s", error)
                await sleep(self._clock, backoff.next())

    async def _read(self) -> dict[str, str]:
        try:
            found = await self._client.get(CONFIGMAPS, NAME, self._namespace)
        except NotFound:
            return {}
        return found.decode(_Data).data or {}

    async def _write(self) -> None:
        due = self._clock.now() - timedelta(seconds=LASTING)
        wanted = {worker: _text(loss) for worker, loss in self._losses.items() if loss.since <= due}
        kept = self._losses.keys() | wanted.keys()
        changes: dict[str, str | None] = {
            worker: text for worker, text in wanted.items() if self._written.get(worker) != text
        }
        changes |= {worker: None for worker in self._written if worker not in kept}
        if changes:
            found = await self._patch(changes)
            self._written = found

    async def _patch(self, changes: Mapping[str, str | None]) -> dict[str, str]:
        patch = merge_patch({"data": changes})
        try:
            found = await self._client.patch(CONFIGMAPS, NAME, patch, self._namespace)
        except NotFound:
            metadata = {"name": NAME, "namespace": self._namespace}
            data = {worker: text for worker, text in changes.items() if text is not None}
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
            try:
                found = await self._client.create(CONFIGMAPS, body)
            except AlreadyExists:
                found = await self._client.patch(CONFIGMAPS, NAME, patch, self._namespace)
        return found.decode(_Data).data or {}


def _text(loss: Loss) -> str:
    entry = {"lostSince": format_micro_time(loss.since), "reason": loss.reason}
    return msgspec.json.encode(entry).decode()


def _parse(worker: str, text: str) -> Loss | None:
    try:
        entry = msgspec.json.decode(text.encode(), type=_Entry)
    except msgspec.DecodeError as error:
        log.warning("the recorded loss of %s makes no sense: %s", worker, error)
        return None
    since = entry.lost_since if entry.lost_since.tzinfo else entry.lost_since.replace(tzinfo=UTC)
    return Loss(since, entry.reason)
