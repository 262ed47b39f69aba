"""The load generator: N keep-alive connections that create Jobs, list them, or run them, on request.

python -m bench.load URL KUBECONFIG CONNECTIONS
{"do": "create", "first": 0, "count": 2000}  ->  {"seconds": 1.7, "cpu": 0.4}
{"do": "post", "path": "/api/v1/namespaces", "body": {...}}  ->  the same; so for "delete"
{"do": "run", "first": 0, "count": 1000}  ->  the same, from the first create until the last Job is complete
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from bench import jobs
from bench.connection import Sender, access, connect, loop_factory
from bench.finishes import Finishes, follow


async def _send(senders: list[Sender], requests: list[bytes], wanted: bytes) -> dict[str, Any]:
    shared = iter(requests)
    begin, cpu = time.perf_counter(), time.process_time()
    answered = await asyncio.gather(*(sender.restart(shared, wanted) for sender in senders))
    assert sum(answered) == len(requests)
    return {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - cpu}


async def _run(senders: list[Sender], finishes: Finishes, order: dict[str, Any]) -> dict[str, Any]:
    names = [f"run-{number:06d}" for number in range(order["first"], order["first"] + order["count"])]
    sizes = order.get("completions", 1), order.get("parallelism", 1)
    requests = [jobs.request("POST", jobs.PATH, jobs.runnable(name, *sizes)) for name in names]
    begin, cpu = time.perf_counter(), time.process_time()
    created = await _send(senders, requests, b"201")
    await finishes.wait(names)
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "cpu": time.process_time() - cpu, "creating": created["seconds"]}


async def _do(senders: list[Sender], finishes: Finishes | None, order: dict[str, Any]) -> dict[str, Any]:
    if order["do"] == "namespace":
        content = json.dumps({"metadata": {"name": jobs.NAMESPACE}}).encode()
        return await _send(senders[:1], [jobs.request("POST", "/api/v1/namespaces", content)], b"201")
    if order["do"] == "post":
        content = json.dumps(order["body"]).encode()
        return await _send(senders[:1], [jobs.request("POST", order["path"], content)], b"201")
    if order["do"] == "delete":
        return await _send(senders[:1], [jobs.request("DELETE", order["path"])], b"200")
    if order["do"] == "create":
        requests = jobs.creates(order["first"], order["count"], sweep=order.get("sweep", False))
        return await _send(senders, requests, b"201")
    if order["do"] == "run":
        assert finishes is not None
        return await _run(senders, finishes, order)
    return await _send(senders[:1], [jobs.request("GET", jobs.PATH)] * order["count"], b"200")


async def main(url: str, kubeconfig: str, connections: int) -> None:
    where = access(url, kubeconfig)
    senders = [await connect(where) for _ in range(connections)]
    finishes: Finishes | None = None
    loop = asyncio.get_running_loop()
    print(json.dumps({"ready": True}), flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order = json.loads(line)
        if order["do"] == "run" and finishes is None:
            finishes = await follow(where)
        print(json.dumps(await _do(senders, finishes, order)), flush=True)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
