"""The logs of a mirror's pods on its worker: which pods those are, its kind says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from jobrelay.kube import BadRequest, Client, KubeError, NotFound, Object
from jobrelay.kube.resource import PODS
from jobrelay.sdk.errors import RelayError
from jobrelay.workloads import Adapter
from jobrelay.workloads.names import ORIGIN, ORIGIN_UID

__all__ = ["Emit", "LogLine", "LogOptions", "MirrorLogs", "mirrors_of"]

_LOOK_AGAIN: Final = 1.0
_NOT_STARTED: Final = (None, "Pending")
_INDEX: Final = "batch.kubernetes.io/job-completion-index"


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What is read: one container or all, of one index or all, the last lines or all, until now or until the end."""

    container: str = ""
    tail: int | None = None
    """Only this number of last lines of each container."""
    follow: bool = False
    index: int | None = None
    """Only the pods of this completion index of an indexed Job."""
    since: float | None = None
    """Only what was written within the last so many seconds."""
    timestamps: bool = False
    """Whether each line begins with its time."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a container, as it was written, with its newline if it has one."""

    worker: str
    pod: str
    container: str
    raw: bytes

    @property
    def text(self) -> str:
        """Without its newline; what is not UTF-8 is replaced."""
        return self.raw.decode(errors="replace").rstrip("\n")


Emit: TypeAlias = Callable[[LogLine], Awaitable[None]]


class MirrorLogs:
    """The logs of the mirror of one original; `client` is one of its worker. `note` gets what cannot be read."""

    def __init__(
        self,
        client: Client,
        worker: str,
        adapter: Adapter,
        original: Object,
        options: LogOptions,
        note: Callable[[str], None],
    ) -> None:
        self._client, self._worker, self._adapter, self._original = client, worker, adapter, original
        self._options, self._note = options, note
        self._printed: set[str] = set()
        """The uids of the pods whose logs are, or were, read."""

    @property
    def described(self) -> str:
        return f"{self._adapter.resource.kind} {self._original.key}"

    async def started(self) -> list[Object]:
        """The pods that have started, the oldest first."""
        pods = [pod for pod in await self._pods(await self._mirrors()) if _phase(pod) not in _NOT_STARTED]
        return sorted(pods, key=lambda pod: (pod.metadata.creation_timestamp or "", pod.name))

    async def why_none(self) -> str:
        """Why no pod has started, as far as it can be seen."""
        mirrors = await self._mirrors()
        if not mirrors:
            return "its mirror is not there: it was removed, or is not created yet"
        if not any(self._adapter.log_selectors(mirror) for mirror in mirrors):
            return f"pods of a {self._adapter.resource.kind} cannot be told by labels, or have no names yet"
        pods = await self._pods(mirrors)
        return "its pods wait for a node there" if pods else "its pods were deleted, or are not created yet"

    async def read(self, emit: Emit) -> None:
        """What there is now; raises RelayError and KubeError."""
        found = [(pod, container) for pod in await self.started() for container in self._containers(pod)]
        if not found:
            raise RelayError(f"no pod of {self.described} has a container {self._options.container}", "omit -c for all")
        for pod, container in found:
            await self._read(pod, container, emit)

    async def follow(self, emit: Emit, over: asyncio.Event) -> None:
        """The logs of all pods side by side, also of those that start later, until the mirror ends or `over` is set
        and what was written by then is read; raises KubeError."""
        try:
            async with asyncio.TaskGroup() as tasks:
                while True:
                    goes_on = not over.is_set() and await self._goes_on()
                    for pod in await self.started():
                        if pod.uid not in self._printed:
                            self._printed.add(pod.uid)
                            for container in self._containers(pod):
                                tasks.create_task(self._read(pod, container, emit))
                    if not goes_on:
                        return
                    await _set_within(over, _LOOK_AGAIN)
        except* KubeError as errors:
            raise errors.exceptions[0] from None

    async def _goes_on(self) -> bool:
        """Whether the workload may start more pods; one whose mirror is not created yet does."""
        mirrors = await self._mirrors()
        return not mirrors or any(self._adapter.read(mirror).end is None for mirror in mirrors)

    async def _mirrors(self) -> list[Object]:
        return await mirrors_of(self._client, self._adapter, self._original)

    async def _pods(self, mirrors: list[Object]) -> list[Object]:
        found: dict[str, Object] = {}
        for mirror in mirrors:
            for selector in self._adapter.log_selectors(mirror):
                listed = await self._client.list(PODS, mirror.namespace, label_selector=selector)
                for pod in listed.items:
                    if self._adapter.pod_owner(pod) in ("", mirror.uid) and self._chosen(pod):
                        found[pod.uid] = pod
        return list(found.values())

    def _chosen(self, pod: Object) -> bool:
        index = self._options.index
        return index is None or pod.metadata.annotations.get(_INDEX) == str(index)

    def _containers(self, pod: Object) -> list[str]:
        """All containers of a pod, or the chosen one if it has it, which may be an init container."""
        spec, chosen = pod.decode()["spec"], self._options.container
        named = [each["name"] for each in spec["containers"]]
        if not chosen:
            return named
        return [chosen] if chosen in (*named, *(each["name"] for each in spec.get("initContainers") or ())) else []

    async def _read(self, pod: Object, container: str, emit: Emit) -> None:
        options = self._options
        query: dict[str, Any] = {
            "follow": options.follow,
            "tail_lines": options.tail,
            "timestamps": options.timestamps,
            "since_seconds": None if options.since is None else max(1, round(options.since)),
        }
        try:
            async with self._client.logs(pod.name, pod.namespace, container=container, **query) as chunks:
                async for line in _lines(chunks):
                    await emit(LogLine(self._worker, pod.name, container, line))
        except (BadRequest, NotFound) as error:
            self._note(f"no logs of container {container} of pod {pod.name}: {error}")


async def mirrors_of(client: Client, adapter: Adapter, original: Object) -> list[Object]:
    """The mirror, which has another name if the worker is the management cluster itself; its children are none."""
    marked = (await client.list(adapter.resource, original.namespace, label_selector=ORIGIN)).items
    own = [each for each in marked if each.metadata.annotations.get(ORIGIN_UID) == original.uid]
    return [each for each in own if each.metadata.controller is None]


async def _set_within(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Whole lines, so that those of several pods do not mix; the last one may have no end."""
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line + b"\n"
    if rest:
        yield rest


def _phase(pod: Object) -> str | None:
    return (pod.decode().get("status") or {}).get("phase")
