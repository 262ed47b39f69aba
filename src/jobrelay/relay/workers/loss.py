"""Since when each worker has been lost, across restarts of the relay.

The workloads of a lost worker are started elsewhere after a timeout, which must not begin again when the relay
restarts. One ConfigMap on the management cluster therefore holds the current losses: {worker: {"lostSince": ...,
"reason": ...}}. Short ones are never written. Only the leader writes, each worker under its own key by a merge patch,
so that writers cannot overwrite each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from random import Random

import msgspec

from jobrelay.apimachinery.gojson import UNREADABLE
from jobrelay.apimachinery.times import format_micro_time
from jobrelay.kube import AlreadyExists, Client, Clock, KubeError, NotFound, merge_patch
from jobrelay.kube.backoff import Backoff
from jobrelay.kube.clock import sleep
from jobrelay.kube.resource import CONFIGMAPS
from jobrelay.logs import get_logger
from jobrelay.relay.workers.connection import Loss

log = get_logger(__name__)

NAME = "jobrelay-workers"
MIN_DURATION = 5.0
_INTERVAL = 1.0


class _Data(msgspec.Struct):
    data: dict[str, str] | None = None


class _Entry(msgspec.Struct, rename="camel"):
    lost_since: datetime
    reason: str = ""


class LossRecord:
    """Reads and writes the losses of all workers."""

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
        """Whether `_written` is the content of the ConfigMap: nobody else writes while this replica leads."""

    @property
    def losses(self) -> Mapping[str, Loss]:
        """The current losses by worker."""
        return self._losses

    def lost(self, worker: str, since: datetime, reason: str) -> None:
        """A worker is lost; repeated calls with the same time change nothing."""
        known = self._losses.get(worker)
        if known is None or known.since != since:
            self._losses[worker] = Loss(since, reason)

    def answered(self, worker: str) -> None:
        self._losses.pop(worker, None)

    async def load(self) -> None:
        """Read what was recorded before; retries until it succeeds."""
        backoff = Backoff(random=self._random)
        while True:
            try:
                self._written = await self._read()
            except KubeError as error:
                log.warning("record of lost workers not read", error=str(error))
                await sleep(self._clock, backoff.next())
                continue
            recorded = {worker: loss for worker, text in self._written.items() if (loss := _parse(worker, text))}
            self._losses = recorded | self._losses
            return

    async def run(self) -> None:
        """Write losses that last, and remove those that have ended, until cancelled."""
        backoff = Backoff(random=self._random)
        while True:
            await sleep(self._clock, _INTERVAL)
            if not self._writes():
                self._current = False
                continue
            try:
                if not self._current:
                    self._written, self._current = await self._read(), True
                await self._write()
                backoff.reset()
            except KubeError as error:
                log.warning("record of lost workers not written", error=str(error))
                await sleep(self._clock, backoff.next())

    async def _read(self) -> dict[str, str]:
        try:
            found = await self._client.get(CONFIGMAPS, NAME, self._namespace)
        except NotFound:
            return {}
        return found.decode(_Data).data or {}

    async def _write(self) -> None:
        if not self._losses and not self._written:
            return
        due = self._clock.now() - timedelta(seconds=MIN_DURATION)
        wanted = {worker: _text(loss) for worker, loss in self._losses.items() if loss.since <= due}
        changes: dict[str, str | None] = {
            worker: text for worker, text in wanted.items() if self._written.get(worker) != text
        }
        changes |= {worker: None for worker in self._written if worker not in self._losses}
        if changes:
            self._written = await self._patch(changes)

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
    except UNREADABLE as error:
        log.warning("recorded loss of a worker is invalid", worker=worker, error=str(error))
        return None
    since = entry.lost_since if entry.lost_since.tzinfo else entry.lost_since.replace(tzinfo=UTC)
    return Loss(since, entry.reason)
