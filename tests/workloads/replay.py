"""Writes pairs to a server, and tells what it refused.

    python -m tests.workloads.replay --server https://127.0.0.1:6443/TOKEN --number 3000 --seed 1

After each write the same mirror must have nothing more to say: what a server makes of a status has to read as the
status that was meant.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from jobrelay.workloads import status_patch
from tests.oracle.endpoint import Endpoint

from .pairs import pairs
from .stories import ADAPTER, Pair, as_object

Obj = dict[str, Any]
NAMESPACES = "/api/v1/namespaces"
MERGE = "application/merge-patch+json"
AT_ONCE = 16


async def replay(server: Endpoint, namespace: str, told: Iterable[Pair]) -> list[str]:
    """Goes through stories on a server, several at a time; what went wrong."""
    await _call(server, "POST", NAMESPACES, {"metadata": {"name": namespace}})
    waiting, found = iter(groupby(told, key=lambda pair: pair.story)), list[str]()

    async def take() -> None:
        for _, story in waiting:
            found.extend(await _story(server, namespace, list(story)))

    try:
        await asyncio.gather(*(take() for _ in range(AT_ONCE)))
    finally:
        await _call(server, "DELETE", f"{NAMESPACES}/{namespace}", None)
    return found


async def _story(server: Endpoint, namespace: str, told: list[Pair]) -> list[str]:
    jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    path = f"{jobs}/{told[0].original['metadata']['name']}"
    job: Obj = {}
    for pair in told:
        for edit in pair.edits:
            if edit.verb == "create":
                metadata = {"name": edit.body["metadata"]["name"]}
                code, job = await _call(server, "POST", jobs, {**edit.body, "metadata": metadata})
            else:
                target = f"{path}/{edit.subresource}" if edit.subresource else path
                code, job = await _call(server, "PATCH", target, edit.body)
            if code not in (200, 201):
                return [f"{path}: {edit}: {job.get('message')}"]
        status = ADAPTER.merged_status(as_object(job), as_object(pair.mirror))
        if status is None:
            return [f"{path}: nothing to write: {job} {pair.mirror}"]
        change = {"metadata": {"resourceVersion": job["metadata"]["resourceVersion"]}}
        change["status"] = status_patch(job["status"], status)
        code, answer = await _call(server, "PATCH", f"{path}/status", change)
        if code != 200:
            return [f"{path}: {answer.get('message')}: {json.dumps([job, pair.mirror])}"]
        job = answer
        if (again := ADAPTER.merged_status(as_object(job), as_object(pair.mirror))) is not None:
            return [f"{path}: not settled: {again} {job['status']}"]
    return []


async def _call(server: Endpoint, method: str, path: str, body: Obj | None) -> tuple[int, Obj]:
    kind = MERGE if method == "PATCH" else "application/json"
    encoded = None if body is None else json.dumps(body).encode()
    answer = await server.send(method, path, {"Content-Type": kind}, encoded)
    decoded: Obj = json.loads(answer.body)
    return answer.code, decoded


async def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="URL/TOKEN or a kubeconfig")
    parser.add_argument("--number", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--namespace", default="pairs")
    options = parser.parse_args()
    async with Endpoint.from_text(options.server) as server:
        found = await replay(server, options.namespace, pairs(options.number, options.seed))
    print(*found[:20], sep="\n")
    print(f"{options.number} pairs, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(asyncio.run(_main()))
