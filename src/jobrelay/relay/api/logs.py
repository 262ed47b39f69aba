"""The log of a workload: those of its pods' containers, in whole lines, perhaps until the workload ends.

Followed logs come side by side. Pods that start later are found by a watch, and the end of the workload by a watch of
its mirror; both watches are opened again when the worker ends them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from jobrelay.kube import BadRequest, Expired, KubeError, NotFound, Object
from jobrelay.kube.resource import PODS
from jobrelay.kube.watch import EventType
from jobrelay.relay.api.failures import bad_request, not_started
from jobrelay.relay.kept_logs.kept import LogChoice
from jobrelay.relay.mirror_pods.listing import MirrorPods, container_names, has_started, index_of

Write = Callable[[bytes], Awaitable[None]]
_AT_ONCE: Final = 50
_LONGEST_LINE: Final = 1 << 20


class LogRequest(msgspec.Struct, frozen=True):
    """Which part of a workload's log is asked for."""

    container: str = ""
    pod: str = ""
    index: str = ""
    follow: bool = False
    timestamps: bool = False
    prefix: bool = False
    tail: int | None = None
    since: int | None = None


def parse_log_request(query: Mapping[str, str]) -> LogRequest:
    """The parameters, named as those of a pod's log where there are such; raises ApiFailure."""
    return LogRequest(
        query.get("container", ""),
        query.get("pod", ""),
        str(index) if (index := number(query, "index")) is not None else "",
        flag(query, "follow"),
        flag(query, "timestamps"),
        flag(query, "prefix"),
        number(query, "tailLines"),
        number(query, "sinceSeconds"),
    )


def kept_choice(request: LogRequest, now: datetime) -> LogChoice:
    """The same part of a kept log."""
    since = now - timedelta(seconds=request.since) if request.since is not None else None
    return LogChoice(request.container, request.pod, request.index, request.timestamps, request.tail, since)


def flag(query: Mapping[str, str], name: str) -> bool:
    text = query.get(name, "false")
    if text not in ("true", "false", "1", "0"):
        raise bad_request(f"{name}={text!r} is neither true nor false")
    return text in ("true", "1")


def number(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise bad_request(f"{name}={text!r} is not a number")
    return int(text)


class WorkloadLog:
    """Copies the log of one mirror's pods; `described` is its workload."""

    def __init__(self, pods: MirrorPods, request: LogRequest, described: str) -> None:
        self._pods, self._request, self._described = pods, request, described
        self._taken: set[str] = set()
        """The uids of the pods whose logs are, or were, copied."""
        self._turn, self._slots = asyncio.Lock(), asyncio.Semaphore(_AT_ONCE)

    async def started(self) -> list[tuple[Object, str]]:
        """The pods and containers whose logs there are; raises ApiFailure if there are none, and KubeError."""
        pods = await self._pods.list()
        chosen = [pod for pod in pods if self._wanted(pod)]
        found = [(pod, name) for pod in chosen if has_started(pod) for name in self._containers(pod)]
        if found:
            return found
        if not self._pods.selectors:
            raise not_started(f"pods of {self._described} cannot be told by labels, or have no names yet")
        if chosen and not any(map(self._containers, chosen)):
            raise bad_request(f"no pod of {self._described} has a container {self._request.container!r}")
        waiting = "wait on their worker" if pods else "were deleted, or are not created yet"
        raise not_started(f"no pod of {self._described} has started: its pods {waiting}")

    async def copy(self, write: Write) -> None:
        """Copy what there is; raises KubeError."""
        for pod, container in await self.started():
            await self._copy(pod, container, write)

    async def follow(self, write: Write) -> None:
        """Copy everything up to the end of the workload; raises KubeError."""
        try:
            async with asyncio.TaskGroup() as tasks:
                watching = [tasks.create_task(self._watch_pods(each, tasks, write)) for each in self._pods.selectors]
                await self._until_ended()
                for pod in await self._pods.list():
                    self._take(pod, tasks, write)
                for task in watching:
                    task.cancel()
        except* KubeError as errors:
            raise _first(errors) from None

    def _containers(self, pod: Object) -> list[str]:
        return container_names(pod, self._request.container)

    def _wanted(self, pod: Object) -> bool:
        asked = self._request
        return (not asked.pod or pod.name == asked.pod) and (not asked.index or index_of(pod) == asked.index)

    async def _watch_pods(self, selector: str, tasks: asyncio.TaskGroup, write: Write) -> None:
        while True:
            async for pod in self._changes(PODS, label_selector=selector):
                if pod is not None and self._pods.owns(pod):
                    self._take(pod, tasks, write)

    def _take(self, pod: Object, tasks: asyncio.TaskGroup, write: Write) -> None:
        """Start copying the log of a pod that has just started."""
        if pod.uid not in self._taken and self._wanted(pod) and has_started(pod):
            self._taken.add(pod.uid)
            for container in self._containers(pod):
                tasks.create_task(self._copy(pod, container, write))

    async def _until_ended(self) -> None:
        mirror, adapter = self._pods.mirror, self._pods.adapter
        while True:
            async for seen in self._changes(adapter.resource, field_selector=f"metadata.name={mirror.name}"):
                if seen is None or seen.uid != mirror.uid or adapter.read(seen).end is not None:
                    return

    async def _changes(self, resource: object, **selectors: str) -> AsyncIterator[Object | None]:
        """The objects of one watch, as they are and as they change; None for one that was deleted."""
        client, namespace = self._pods.client, self._pods.mirror.namespace
        try:
            async with client.watch(resource, namespace, **selectors) as events:  # type: ignore[arg-type]
                async for event in events:
                    if event.type is EventType.DELETED:
                        yield None
                    elif event.type is not EventType.BOOKMARK:
                        yield event.object
        except Expired:
            return

    async def _copy(self, pod: Object, container: str, write: Write) -> None:
        asked = self._request
        lead = f"[{pod.name}/{container}] ".encode() if asked.prefix else b""
        async with self._slots:
            try:
                async with self._pods.client.logs(
                    pod.name,
                    pod.namespace,
                    container=container,
                    follow=asked.follow,
                    timestamps=asked.timestamps,
                    tail_lines=asked.tail,
                    since_seconds=asked.since,
                ) as chunks:
                    async for line in whole_lines(chunks):
                        async with self._turn:
                            await write(lead + line)
            except (BadRequest, NotFound) as error:
                async with self._turn:
                    await write(f"jobrelay: no log of container {container} of pod {pod.name}: {error}\n".encode())


async def whole_lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Whole lines, so that those of several pods do not mix; the last one, and one without an end, may have none."""
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line + b"\n"
        if len(rest) > _LONGEST_LINE:
            yield rest
            rest = b""
    if rest:
        yield rest


def _first(errors: BaseExceptionGroup[KubeError]) -> BaseException:
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found
