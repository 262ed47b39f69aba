"""What a MultiKueueCluster says about itself: the conditions `Active` and `Connected`.

`Active` is Kueue's, with Kueue's reasons. `Connected` is ours and says more: since when there is no contact, why, how often
it was tried and when next; or how the last loss ended. They are worked out by a pure function and written only when they
differ from what stands there, only by the leader, and not more often than people can read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Cache, Client, Clock, Key, KubeError, Object, merge_patch
from jobrelay.kube.clock import sleep
from jobrelay.relay.workers.link import WorkerLink
from jobrelay.relay.workers.spec import Refused

__all__ = ["ConditionWriter", "conditions"]

log = logging.getLogger(__name__)

_LOOK_EVERY = 1.0
_STATUS_EVERY = 5.0
_WORDS_EVERY = 30.0
_LONGEST = 1024


class _Status(msgspec.Struct):
    conditions: list[dict[str, Any]] | None = None


class _Cluster(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)


def conditions(link: WorkerLink) -> tuple[tuple[str, str, str, str], ...]:
    """(type, status, reason, message) of what a link has to say; nothing before its first try is over."""
    if not link.settled:
        return ()
    access = link.spec.access
    notes = [*link.spec.remarks, *(f"{kind}: {why}" for kind, why in link.unavailable.items())]
    if link.connected:
        last = link.last_loss
        version = link.version.git_version if link.version is not None else ""
        told = [f"Kubernetes {version}" if version else "Connected"]
        if last is not None and last.until is not None:
            told.append(f"last loss from {format_time(last.since)} to {format_time(last.until)}: {last.reason}")
        return ("Active", "True", "Active", "Connected"), ("Connected", "True", "Connected", _text([*told, *notes]))
    if isinstance(access, Refused):
        active = ("Active", "False", access.reason, access.message)
        return active, ("Connected", "False", access.reason, _text([_since(link), *notes]))
    told = [_since(link), f"{link.attempts} failed attempts"]
    if link.next_retry is not None:
        told.append(f"next at {format_time(link.next_retry)}")
    active = ("Active", "False", "ClientConnectionFailed", link.reason)
    return active, ("Connected", "False", "Lost", _text([*told, *notes]))


def _since(link: WorkerLink) -> str:
    since = format_time(link.lost_since) if link.lost_since is not None else "the start"
    return f"no contact since {since}: {link.reason}"


def _text(parts: list[str]) -> str:
    return "; ".join(parts)[:_LONGEST]


class ConditionWriter:
    """Writes the conditions of all links onto their objects, which `clusters` caches."""

    def __init__(
        self,
        client: Client,
        clusters: Callable[[], Cache | None],
        links: Mapping[str, WorkerLink],
        *,
        clock: Clock,
        writes: Callable[[], bool],
    ) -> None:
        self._client, self._clusters, self._links = client, clusters, links
        self._clock, self._writes = clock, writes
        self._written_at: dict[str, float] = {}

    async def run(self) -> None:
        """Look at all links once a second, in memory; write where something is new."""
        while True:
            await sleep(self._clock, _LOOK_EVERY)
            for name, link in list(self._links.items()):
                cache = self._clusters()
                obj = cache.get(Key("", name)) if cache is not None else None
                if cache is None or obj is None or not self._writes():
                    continue
                try:
                    await self._write(cache, obj, link)
                except KubeError as error:
                    log.info("the conditions of %s were not written: %s", name, error)

    async def _write(self, cache: Cache, obj: Object, link: WorkerLink) -> None:
        fresh = _merged(obj, conditions(link), self._clock.now())
        if fresh is None:
            return
        merged, urgent = fresh
        now = self._clock.monotonic()
        if now < self._written_at.get(link.name, -_WORDS_EVERY) + (_STATUS_EVERY if urgent else _WORDS_EVERY):
            return
        self._written_at[link.name] = now
        patch = merge_patch({"metadata": {"resourceVersion": obj.resource_version}, "status": {"conditions": merged}})
        cache.observe(await self._client.patch(cache.resource, link.name, patch, subresource="status"))


def _merged(
    obj: Object, wanted: tuple[tuple[str, str, str, str], ...], now: datetime
) -> tuple[list[dict[str, Any]], bool] | None:
    """All conditions with ours brought up to date, and whether more than words changed; None if nothing did."""
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
