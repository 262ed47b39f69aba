"""The conditions `Active` and `Connected` of MultiKueueClusters.

`Active` is Kueue's, with Kueue's reasons. `Connected` is ours and says more: since when there is no contact, why, the
number of attempts and the time of the next; or how the last loss ended. Both are computed by a pure function and
written only when they differ from the object, only by the leader, and at a limited rate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Cache, Client, Clock, Key, KubeError, Object, merge_patch
from jobrelay.kube.clock import sleep
from jobrelay.logs import get_logger
from jobrelay.relay.workers.connection import WorkerConnection
from jobrelay.relay.workers.spec import RejectedKubeconfig

log = get_logger(__name__)

_INTERVAL = 1.0
_MIN_STATUS_INTERVAL = 5.0
_MIN_MESSAGE_INTERVAL = 30.0
_MAX_LENGTH = 1024


class _Status(msgspec.Struct):
    conditions: list[dict[str, Any]] | None = None


class _Cluster(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)


def conditions(worker: WorkerConnection) -> tuple[tuple[str, str, str, str], ...]:
    """(type, status, reason, message) of each condition; none before the first attempt to connect is over."""
    if not worker.tried:
        return ()
    access = worker.spec.access
    notes = [*worker.spec.remarks, *(f"{kind}: {why}" for kind, why in worker.mirrors.unavailable.items())]
    if worker.connected:
        last = worker.last_loss
        version = worker.version.git_version if worker.version is not None else ""
        parts = [f"Kubernetes {version}" if version else "Connected"]
        if last is not None and last.until is not None:
            parts.append(f"last loss from {format_time(last.since)} to {format_time(last.until)}: {last.reason}")
        return ("Active", "True", "Active", "Connected"), ("Connected", "True", "Connected", _text([*parts, *notes]))
    if isinstance(access, RejectedKubeconfig):
        active = ("Active", "False", access.reason, access.message)
        return active, ("Connected", "False", access.reason, _text([_since(worker), *notes]))
    parts = [_since(worker), f"{worker.attempts} failed attempts"]
    if worker.next_retry is not None:
        parts.append(f"next at {format_time(worker.next_retry)}")
    active = ("Active", "False", "ClientConnectionFailed", worker.reason)
    return active, ("Connected", "False", "Lost", _text([*parts, *notes]))


def _since(worker: WorkerConnection) -> str:
    since = format_time(worker.lost_since) if worker.lost_since is not None else "the start"
    return f"no contact since {since}: {worker.reason}"


def _text(parts: list[str]) -> str:
    return "; ".join(parts)[:_MAX_LENGTH]


class ConditionWriter:
    """Writes the conditions of all workers to their objects, which `clusters` returns the cache of."""

    def __init__(
        self,
        client: Client,
        clusters: Callable[[], Cache | None],
        workers: Mapping[str, WorkerConnection],
        *,
        clock: Clock,
        writes: Callable[[], bool],
    ) -> None:
        self._client, self._clusters, self._workers = client, clusters, workers
        self._clock, self._writes = clock, writes
        self._written_at: dict[str, float] = {}

    async def run(self) -> None:
        """Compare once a second, in memory, until cancelled; write what is new."""
        while True:
            await sleep(self._clock, _INTERVAL)
            for name, worker in list(self._workers.items()):
                cache = self._clusters()
                obj = cache.get(Key("", name)) if cache is not None else None
                if cache is None or obj is None or not self._writes():
                    continue
                try:
                    await self._write(cache, obj, worker)
                except KubeError as error:
                    log.info("conditions of a worker not written", worker=name, error=str(error))

    async def _write(self, cache: Cache, obj: Object, worker: WorkerConnection) -> None:
        fresh = _merged(obj, conditions(worker), self._clock.now())
        if fresh is None:
            return
        merged, urgent = fresh
        now = self._clock.monotonic()
        if now < self._written_at.get(worker.name, -_MIN_MESSAGE_INTERVAL) + (
            _MIN_STATUS_INTERVAL if urgent else _MIN_MESSAGE_INTERVAL
        ):
            return
        self._written_at[worker.name] = now
        patch = merge_patch({"metadata": {"resourceVersion": obj.resource_version}, "status": {"conditions": merged}})
        cache.observe(await self._client.patch(cache.resource, worker.name, patch, subresource="status"))


def _merged(
    obj: Object, wanted: tuple[tuple[str, str, str, str], ...], now: datetime
) -> tuple[list[dict[str, Any]], bool] | None:
    """All conditions with ours updated, and whether more than messages changed; None if nothing changed."""
    held = {str(one.get("type")): one for one in obj.decode(_Cluster).status.conditions or ()}
    urgent = changed = False
    for type_, status, reason, message in wanted:
        before = held.get(type_, {})
        if [before.get(name) for name in ("status", "reason", "message")] == [status, reason, message]:
            continue
        changed = True
        flipped = before.get("status") != status
        urgent = urgent or flipped or before.get("reason") != reason
        held[type_] = {
            "type": type_,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": format_time(now) if flipped else before.get("lastTransitionTime", format_time(now)),
            "observedGeneration": obj.metadata.generation,
        }
    return (list(held.values()), urgent) if changed else None
