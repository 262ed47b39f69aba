"""A cluster whose pods are processes, and small questions about them."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import pathlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from jobrelay.cluster.cluster import Cluster
from jobrelay.cluster.node import NodeSettings
from jobrelay.kube import Client
from jobrelay.kube.errors import NotFound
from jobrelay.kube.resource import EVENTS, PODS

from .fake_time import pod

CONTROLLERS = "namespace-controller"
_NEWUSER = 0x10000000


class World:
    def __init__(self, client: Client) -> None:
        self.client = client

    async def run(self, script: str, name: str = "p", *, container: dict[str, Any] | None = None, **spec: Any) -> None:
        body = pod(name, **spec)
        body["spec"]["containers"][0] |= {"command": ["sh", "-c", script]} | (container or {})
        await self.client.create(PODS, body)

    async def until(self, found: Callable[[dict[str, Any]], bool], name: str = "p") -> dict[str, Any]:
        async with asyncio.timeout(20):
            while True:
                got = (await self.client.get(PODS, name, "default")).decode()
                if found(got):
                    return got
                await asyncio.sleep(0.02)

    async def ended(self, name: str = "p") -> dict[str, Any]:
        return await self.until(lambda pod: pod["status"]["phase"] in ("Succeeded", "Failed"), name)

    async def log(self, name: str = "p", **options: Any) -> str:
        async with self.client.logs(name, "default", **options) as chunks:
            return b"".join([chunk async for chunk in chunks]).decode()

    async def delete(self, name: str = "p") -> None:
        await self.client.delete(PODS, name, "default", grace_period=1)
        await self.gone(name)

    async def gone(self, name: str = "p") -> None:
        with contextlib.suppress(NotFound):
            await self.until(lambda pod: False, name)

    async def true(self, found: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not found():
                await asyncio.sleep(0.02)

    async def event(self, reason: str, name: str = "p") -> str:
        """What the first event of a reason says about a pod."""
        async with asyncio.timeout(20):
            while True:
                for event in (await self.client.list(EVENTS, "default")).items:
                    found = event.decode()
                    if found.get("reason") == reason and (found.get("regarding") or {}).get("name") == name:
                        return str(found.get("note"))
                await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def processes(folder: pathlib.Path, **settings: Any) -> AsyncIterator[World]:
    """A cluster in memory, with its pods in a folder."""
    async with Cluster("dev", folder, memory=True, controllers=CONTROLLERS, nodes=NodeSettings(**settings)) as cluster:
        yield World(cluster.client())


def terminated(pod: dict[str, Any], index: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = pod["status"]["containerStatuses"][index]["state"]["terminated"]
    return found


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def ended(path: pathlib.Path) -> None:
    """Returns when the processes whose ids a file names are no more."""
    async with asyncio.timeout(20):
        while any(is_alive(int(pid)) for pid in path.read_text().split()):
            await asyncio.sleep(0.02)


async def written(path: pathlib.Path) -> str:
    """What a file holds, once it does."""
    async with asyncio.timeout(20):
        while not path.exists() or not path.read_text().endswith("\n"):
            await asyncio.sleep(0.02)
    return path.read_text()


def _can_mount() -> bool:
    if os.getuid() == 0:
        return True
    pid = os.fork()
    if pid == 0:
        os._exit(ctypes.CDLL(None).unshare(_NEWUSER) != 0)
    return os.waitpid(pid, 0)[1] == 0


mounts = pytest.mark.skipif(not _can_mount(), reason="mounts of a pod's own need root or user namespaces")
