"""The load on a fleet, or on one cluster of either kind: creates Jobs and watches their progress.

python -m bench.relayload CONNECTIONS URL KUBECONFIG [WORKER_URL WORKER_KUBECONFIG ...]
{"prefix": "a", "count": 1000}               as fast as possible, until all are complete
{"prefix": "b", "count": 500, "rate": 50}    so many a second
    "job": "plain"     Jobs for the cluster's own controller instead of delegated ones, or "held": suspended ones
    "run": 0.3         how long a pod runs
    "until": "ready"   wait only until all have a ready pod, or "created": for nothing
    "quiet": 3.0       give up when nothing has become complete for so long
->  {"seconds": 9.1, "creating": 3.0, "done": 1000, "latency": [p50, p95, p99], "lag": [p50, p95, p99], "cpu": 0.6}

Seconds are from the first create to the last Job that is done. A latency is from sending a create to seeing that Job
done. Lag is from when a stage of a Job shows on its mirror to when that or a later one shows on the original; this
process sees both. It is measured only if workers are given.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Iterator
from typing import Any, Final, cast

from bench import jobs
from bench.connection import Access, Sender, Unchunked, access, connect, loop_factory

_PATH: Final = "/apis/batch/v1/namespaces/default/jobs"
_NAME: Final = re.compile(rb'"metadata":\{"name":"([^"]+)"')
_VERSION: Final = re.compile(rb'"resourceVersion":"(\d+)"')
_ERROR: Final = b'"type":"ERROR"'
_STAGES: Final = (b'"startTime":"', b'"ready":1', b'"type":"Complete","status":"True"')
_UNTIL: Final = {"created": 0, "ready": 2, "complete": 3}
_COMPLETE: Final = 3
_PATIENCE: Final = 900.0


def _job(name: str, kind: str, seconds: float) -> bytes:
    if kind == "held":
        return jobs.request("POST", _PATH, jobs.body(name))
    template = {
        "metadata": {"annotations": {"jobrelay.dev/run-seconds": str(seconds)}},
        "spec": {
            "restartPolicy": "Never",
            "containers": [
                {"name": "main", "image": "registry.example.com/train:1.4", "command": ["python", "train.py"]}
            ],
        },
    }
    spec = {"template": template} | ({"managedBy": "jobrelay.dev/relay"} if kind == "delegated" else {})
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}
    return jobs.request("POST", _PATH, json.dumps(job, separators=(",", ":")).encode())


class Stages(asyncio.Protocol):
    """One watch of Jobs: when each reached which stage. Events are not decoded, only searched.

    An API server closes the watch of a client that it considers slow, as happens on a busy machine. The watch is then
    opened again after the last event.
    """

    def __init__(self, access: Access) -> None:
        self.seen: dict[bytes, list[float]] = {}
        self._access, self._body, self._rest, self._last = access, Unchunked(), b"", b""
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport | None = None
        self._again: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Returns when the watch has begun."""
        loop, where = asyncio.get_running_loop(), self._access
        self._body, self._rest, self._opened = Unchunked(), b"", loop.create_future()
        await loop.create_connection(lambda: self, where.host, where.port, ssl=where.context)
        await self._opened

    def check(self) -> None:
        """Raises if the watch has ended and cannot be opened again."""
        if self._again is not None and self._again.done():
            self._again.result()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        found = _VERSION.search(self._last)
        since = found[1].decode() if found and _ERROR not in self._last else "0"
        request = jobs.request("GET", f"{_PATH}?watch=1&resourceVersion={since}")
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._access.sign(request))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._opened.done():
            self._opened.set_exception(ConnectionError(f"the watch has ended at once: {exc}"))
            return
        print("  the API server has ended a watch of the load generator; opening it again", file=sys.stderr, flush=True)
        self._again = asyncio.get_running_loop().create_task(self.open())

    def data_received(self, data: bytes) -> None:
        if not self._opened.done():
            self._opened.set_result(None)
        now = time.perf_counter()
        self._take(self._body.feed(data), now)
        if self._body.ended and self._transport is not None:
            self._transport.close()  # the connection would stay, with nothing to come

    def _take(self, data: bytes, now: float) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._last = lines[-1] if lines else self._last
        for line in lines:
            stage = next((number for number in (3, 2, 1) if _STAGES[number - 1] in line), 0)
            if stage and (found := _NAME.search(line)):
                reached = self.seen.setdefault(found[1], [])
                reached += [now] * (stage - len(reached))

    def reached(self, name: bytes, stage: int) -> float | None:
        times = self.seen.get(name, ())
        return times[stage - 1] if len(times) >= stage else None


class Load:
    """Watches on the management cluster and on the workers, and connections that create Jobs.

    The connections are opened for each command, because an API server closes idle ones.
    """

    def __init__(self, way: Access, connections: int, management: Stages, workers: list[Stages]) -> None:
        self._way, self._connections = way, connections
        self._management, self._workers = management, workers

    async def run(self, order: dict[str, Any]) -> dict[str, Any]:
        names = [f"{order['prefix']}-{number:06d}" for number in range(order["count"])]
        kind = order.get("job", "delegated")
        requests = [(name.encode(), _job(name, kind, order.get("run", 0))) for name in names]
        stage = _UNTIL[order.get("until", "complete")]
        sent: dict[bytes, float] = {}
        senders = [await connect(self._way) for _ in range(self._connections)]
        begin, cpu = time.perf_counter(), time.process_time()
        if "rate" in order:
            await _paced(senders, requests, sent, order["rate"])
        else:
            each = _noting(requests, sent)
            await asyncio.gather(*(sender.restart(each, b"201") for sender in senders))
        creating = time.perf_counter() - begin
        for sender in senders:
            sender.close()
        done = await self._wait(list(sent) if stage else [], stage, order.get("quiet", _PATIENCE))
        latency = [at - sent[name] for name, at in done.items()]
        return {
            "seconds": max(done.values(), default=begin) - begin,
            "creating": creating,
            "done": len(done),
            "latency": _percentiles(latency),
            "lag": _percentiles(self._lags(done)),
            "cpu": time.process_time() - cpu,
        }

    async def _wait(self, names: list[bytes], stage: int, quiet: float) -> dict[bytes, float]:
        """The time at which each Job reached the stage."""
        done: dict[bytes, float] = {}
        last = time.perf_counter()
        missing = names
        while missing and time.perf_counter() - last < quiet:
            self._management.check()
            await asyncio.sleep(0.1)
            fresh = {name: at for name in missing if (at := self._management.reached(name, stage)) is not None}
            if fresh:
                done |= fresh
                last = time.perf_counter()
                missing = [name for name in missing if name not in fresh]
        return done

    def _lags(self, names: dict[bytes, float]) -> list[float]:
        lags = []
        for name in names:
            for stage in range(1, _COMPLETE + 1):
                shown = self._management.reached(name, stage)
                began = [at for worker in self._workers if (at := worker.reached(name, stage)) is not None]
                if shown is not None and began:
                    lags.append(max(shown - min(began), 0.0))
        return lags


async def _paced(
    senders: list[Sender], requests: list[tuple[bytes, bytes]], sent: dict[bytes, float], rate: float
) -> None:
    free: asyncio.Queue[Sender] = asyncio.Queue()
    for sender in senders:
        free.put_nowait(sender)
    begin = time.perf_counter()

    async def one(number: int, request: tuple[bytes, bytes]) -> None:
        await asyncio.sleep(begin + number / rate - time.perf_counter())
        sender = await free.get()
        await sender.restart(_noting([request], sent), b"201")
        free.put_nowait(sender)

    await asyncio.gather(*(one(number, request) for number, request in enumerate(requests)))


def _noting(requests: list[tuple[bytes, bytes]], sent: dict[bytes, float]) -> Iterator[bytes]:
    """The requests; records when each is sent."""
    for name, request in requests:
        sent[name] = time.perf_counter()
        yield request


def _percentiles(values: list[float]) -> list[float]:
    """The 50th, 95th and 99th."""
    if not values:
        return [0.0, 0.0, 0.0]
    ordered = sorted(values)
    return [ordered[min(int(len(ordered) * share), len(ordered) - 1)] for share in (0.5, 0.95, 0.99)]


async def _follow(where: Access) -> Stages:
    stages = Stages(where)
    await stages.open()
    return stages


async def main(connections: int, *where: str) -> None:
    ways = [access(url, kubeconfig) for url, kubeconfig in zip(where[::2], where[1::2], strict=True)]
    management, *workers = [await _follow(way) for way in ways]
    load = Load(ways[0], connections, management, workers)
    loop = asyncio.get_running_loop()
    print(json.dumps({"ready": True}), flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(await load.run(json.loads(line))), flush=True)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main(int(sys.argv[1]), *sys.argv[2:]))
