"""The logs of a mirror's pods on its worker: which pods those are, its kind says."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import click

from jobrelay.cli.errors import Failure
from jobrelay.kube import BadRequest, Client, KubeError, NotFound, Object
from jobrelay.kube.resource import PODS
from jobrelay.workloads import Adapter
from jobrelay.workloads.names import ORIGIN, ORIGIN_UID

__all__ = ["LogOptions", "MirrorLogs"]

_LOOK_AGAIN = 1.0
_NOT_STARTED = (None, "Pending")


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What is printed: one container or all, the last lines or all, until now or until the end."""

    container: str = ""
    tail: int | None = None
    follow: bool = False
    prefix: bool = False


class MirrorLogs:
    """The logs of the mirror of one original; `client` is one of its worker."""

    def __init__(self, client: Client, adapter: Adapter, original: Object, options: LogOptions) -> None:
        self._client, self._adapter, self._original, self._options = client, adapter, original, options
        self._printed: set[str] = set()
        """The uids of the pods whose logs are, or were, printed."""

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

    async def print(self) -> None:
        """Print what there is, or everything up to the end of the workload; raises Failure and KubeError."""
        if self._options.follow:
            try:
                await self._follow()
            except* KubeError as errors:
                raise errors.exceptions[0] from None
            return
        found = [(pod, container) for pod in await self.started() for container in self._containers(pod)]
        if not found:
            raise Failure(f"no pod of {self.described} has a container {self._options.container}", "omit -c for all")
        for pod, container in found:
            await self._print(pod, container)

    async def _follow(self) -> None:
        """Print the logs of all pods side by side, also of those that start later."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                goes_on = await self._goes_on()
                for pod in await self.started():
                    if pod.uid not in self._printed:
                        self._printed.add(pod.uid)
                        for container in self._containers(pod):
                            tasks.create_task(self._print(pod, container))
                if not goes_on:
                    return
                await asyncio.sleep(_LOOK_AGAIN)

    async def _goes_on(self) -> bool:
        """Whether the workload may start more pods."""
        return any(self._adapter.read(mirror).end is None for mirror in await self._mirrors())

    async def _mirrors(self) -> list[Object]:
        """The mirror, which has another name if the worker is the management cluster itself; its children are none."""
        resource, original = self._adapter.resource, self._original
        marked = (await self._client.list(resource, original.namespace, label_selector=ORIGIN)).items
        own = [each for each in marked if each.metadata.annotations.get(ORIGIN_UID) == original.uid]
        return [each for each in own if each.metadata.controller is None]

    async def _pods(self, mirrors: list[Object]) -> list[Object]:
        found: dict[str, Object] = {}
        for mirror in mirrors:
            for selector in self._adapter.log_selectors(mirror):
                listed = await self._client.list(PODS, mirror.namespace, label_selector=selector)
                for pod in listed.items:
                    if self._adapter.pod_owner(pod) in ("", mirror.uid):
                        found[pod.uid] = pod
        return list(found.values())

    def _containers(self, pod: Object) -> list[str]:
        """All containers of a pod, or the chosen one if it has it, which may be an init container."""
        spec, chosen = pod.decode()["spec"], self._options.container
        named = [each["name"] for each in spec["containers"]]
        if not chosen:
            return named
        return [chosen] if chosen in (*named, *(each["name"] for each in spec.get("initContainers") or ())) else []

    async def _print(self, pod: Object, container: str) -> None:
        lead = f"[{pod.name}/{container}] ".encode() if self._options.prefix else b""
        query: dict[str, Any] = {"follow": self._options.follow, "tail_lines": self._options.tail}
        try:
            async with self._client.logs(pod.name, pod.namespace, container=container, **query) as chunks:
                async for line in _lines(chunks):
                    sys.stdout.buffer.write(lead + line)
                    sys.stdout.buffer.flush()
        except (BadRequest, NotFound) as error:
            click.echo(f"note: no logs of container {container} of pod {pod.name}: {error}", err=True)


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
