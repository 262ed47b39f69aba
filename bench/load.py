"""The load generator: N keep-alive connections that create Jobs, or list them, when told to.

python -m bench.load URL KUBECONFIG CONNECTIONS
{"do": "create", "first": 0, "count": 2000}  ->  {"seconds": 1.7, "cpu": 0.4}
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any
from urllib.parse import urlsplit

from bench import jobs
from bench.connection import Sender, connect, loop_factory, tls


async def _send(senders: list[Sender], requests: list[bytes], wanted: bytes) -> dict[str, Any]:
    shared = iter(requests)
    begin, cpu = time.perf_counter(), time.process_time()
    answered = await asyncio.gather(*(sender.restart(shared, wanted) for sender in senders))
    assert sum(answered) == len(requests)
    return {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - cpu}


async def _do(senders: list[Sender], order: dict[str, Any]) -> dict[str, Any]:
    if order["do"] == "namespace":
        content = json.dumps({"metadata": {"name": jobs.NAMESPACE}}).encode()
        return await _send(senders[:1], [jobs.request("POST", "/api/v1/namespaces", content)], b"201")
    if order["do"] == "create":
        requests = jobs.creates(order["first"], order["count"], sweep=order.get("sweep", False))
        return await _send(senders, requests, b"201")
    return await _send(senders[:1], [jobs.request("GET", jobs.PATH)] * order["count"], b"200")


async def main(url: str, kubeconfig: str, connections: int) -> None:
    where, context = urlsplit(url), tls(kubeconfig)
    assert where.hostname is not None
    assert where.port is not None
    senders = [await connect(where.hostname, where.port, context) for _ in range(connections)]
    loop = asyncio.get_running_loop()
    print(json.dumps({"ready": True}), flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(await _do(senders, json.loads(line))), flush=True)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
