"""A client that reads and creates small Jobs at a steady rate, and measures how long each request takes.

python -m bench.probe URL KUBECONFIG
{"name": "a", "seconds": 4.0, "rate": 50}  ->  {"p50": 0.002, "p99": 0.01}

Latencies count from when a request was due, so that all that would have come see a server that stops for a while.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from bench import jobs
from bench.connection import Sender, access, connect, loop_factory


async def _measure(senders: list[Sender], order: dict[str, Any]) -> dict[str, float]:
    rate, name, waits = order["rate"], order["name"].replace(" ", "-").replace(",", "").lower(), []
    free: asyncio.Queue[Sender] = asyncio.Queue()
    for sender in senders:
        free.put_nowait(sender)
    begin = time.perf_counter()

    async def send(number: int) -> None:
        due = begin + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        sender = await free.get()
        create = number % 5 == 0
        content = jobs.body(f"{name}-{number}") if create else b""
        request = jobs.request("POST" if create else "GET", jobs.PATH if create else f"{jobs.PATH}/warm-up-0", content)
        await sender.restart(iter([request]), b"201" if create else b"200")
        waits.append(time.perf_counter() - due)
        free.put_nowait(sender)

    await send(0)
    await asyncio.gather(*(send(number) for number in range(1, int(order["seconds"] * rate))))
    waits.sort()
    return {"p50": waits[len(waits) // 2], "p99": waits[len(waits) * 99 // 100]}


async def main(url: str, kubeconfig: str) -> None:
    where, loop = access(url, kubeconfig), asyncio.get_running_loop()
    senders = [await connect(where) for _ in range(10)]
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(await _measure(senders, json.loads(line))), flush=True)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main(sys.argv[1], sys.argv[2]))
