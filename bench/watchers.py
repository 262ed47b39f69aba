"""A thousand watchers in one process. Each counts the events it gets; the first one also reads them.

python -m bench.watchers URL KUBECONFIG WATCHERS
{"events": 50}  ->  {"complete": 1000, "names": 50}      once every watcher has that many, or time is up
"""

from __future__ import annotations

import asyncio
import json
import re
import resource
import sys
from typing import Any, Final, cast

from bench import jobs
from bench.connection import Access, access, loop_factory

_PATIENCE: Final = 60.0
_AT_ONCE: Final = 20  # handshakes


class Watcher(asyncio.Protocol):
    """Counts the ends of lines that are not part of HTTP's own framing."""

    def __init__(self, request: bytes, *, keep: bool) -> None:
        self._request, self._keep = request, keep
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.kept: list[bytes] = []
        self.events = 0
        self._return = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast("asyncio.Transport", transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        self.events += data.count(b"\n") - data.count(b"\r\n") - (self._return and data.startswith(b"\n"))
        self._return = data.endswith(b"\r")
        if self._keep:
            self.kept.append(data)
        if not self.opened.done():
            self.opened.set_result(None)


async def _open(where: Access, count: int) -> list[Watcher]:
    loop = asyncio.get_running_loop()
    request = jobs.request("GET", f"{jobs.PATH}?watch=1&resourceVersion=0")
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(number: int) -> Watcher:
        async with gate:
            _, watcher = await loop.create_connection(
                lambda: Watcher(request, keep=number == 0), where.host, where.port, ssl=where.context
            )
            await watcher.opened
            return watcher

    return list(await asyncio.gather(*(one(number) for number in range(count))))


async def _wait(watchers: list[Watcher], events: int) -> dict[str, Any]:
    loop = asyncio.get_running_loop()
    end = loop.time() + _PATIENCE
    while any(watcher.events < events for watcher in watchers) and loop.time() < end:
        await asyncio.sleep(0.05)
    names = set(re.findall(rb'"type":"ADDED","object":.*?"name":"(job-\d+)"', b"".join(watchers[0].kept)))
    return {"complete": sum(watcher.events == events for watcher in watchers), "names": len(names)}


async def main(url: str, kubeconfig: str, count: int) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    watchers = await _open(access(url, kubeconfig), count)
    loop = asyncio.get_running_loop()
    print(json.dumps({"ready": True}), flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(await _wait(watchers, json.loads(line)["events"])), flush=True)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
