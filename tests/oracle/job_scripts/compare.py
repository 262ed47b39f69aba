"""Plays scripts to a real control plane and to an embedded cluster at the same time, and shows where they differ.

python -m tests.oracle.job_scripts.compare --real https://127.0.0.1:26000/TOKEN --only backoff -v
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import json
import os
import pathlib
import secrets
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import yaml

from jobrelay.cluster import Cluster
from jobrelay.cluster.controllers import catalog
from jobrelay.cluster.controllers.context import Context
from jobrelay.cluster.controllers.job import set_up
from jobrelay.kube import Client, connect

from .player import Player, prepare_node

FOLDER = pathlib.Path(__file__).parent


def scripts(only: str = "") -> dict[str, list[dict[str, Any]]]:
    """All scripts by name: `file/script`."""
    found = {
        f"{path.stem}/{name}": steps
        for path in sorted(FOLDER.glob("*.yaml"))
        for name, steps in yaml.safe_load(path.read_text()).items()
    }
    parts = [part for part in only.split(",") if part]
    return {name: steps for name, steps in found.items() if not parts or any(part in name for part in parts)}


def differences(name: str, steps: list[Any], real: list[Any], ours: list[Any]) -> list[str]:
    lines = []
    for number, (step, theirs, mine) in enumerate(zip(steps, real, ours, strict=True)):
        if theirs != mine:
            lines.append(f"== {name} after step {number}: {json.dumps(step)}")
            real_text, our_text = (json.dumps(one, indent=1, sort_keys=True).splitlines() for one in (theirs, mine))
            lines += list(difflib.unified_diff(real_text, our_text, "real", "ours", lineterm="", n=2))
    return lines


async def play(real: Client, ours: Client, name: str, steps: list[Any], settle: float) -> list[str]:
    namespace = "jobscript-" + name.replace("/", "-").replace(" ", "-").lower()[:40] + "-" + secrets.token_hex(3)
    both = (Player(client, namespace, settle).play(steps) for client in (real, ours))
    results = await asyncio.gather(*both, return_exceptions=True)
    if any(isinstance(one, BaseException) for one in results):
        return [f"== {name}: {results[0]!r:.300} / {results[1]!r:.300}"]
    return differences(name, steps, *results)  # type: ignore[arg-type]


async def compare(address: str, chosen: dict[str, list[Any]], at_once: int, settle: float) -> dict[str, list[str]]:
    others = ",".join(set(catalog.NAMES) - {"job-controller"})
    with tempfile.TemporaryDirectory() as folder:
        async with (
            Cluster(controllers=others) as cluster,
            _controller(cluster),
            connect(_kubeconfig(address, folder)) as real,
            connect(cluster.kubeconfig) as ours,
        ):
            await asyncio.gather(prepare_node(real), prepare_node(ours))
            gate = asyncio.Semaphore(at_once)

            async def one(name: str) -> list[str]:
                async with gate:
                    found = await play(real, ours, name, chosen[name], settle)
                    print("differs" if found else "same   ", name, flush=True)
                    return found

            return dict(zip(chosen, await asyncio.gather(*map(one, chosen)), strict=True))


@asynccontextmanager
async def _controller(cluster: Cluster) -> AsyncIterator[None]:
    context = Context(cluster.transport("system:kube-controller-manager", ["system:masters"]))
    set_up(context)
    running = asyncio.create_task(context.manager.run())
    await context.manager.ready.wait()
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait([running])


def _kubeconfig(address: str, folder: str) -> str:
    if not address.startswith("https://"):
        return address
    url, _, token = address.rpartition("/")
    path = pathlib.Path(folder) / "real.kubeconfig"
    cluster, user = {"server": url, "insecure-skip-tls-verify": True}, {"token": token}
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "a", "clusters": [{"name": "a", "cluster": cluster}],
        "users": [{"name": "a", "user": user}], "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
    }  # fmt: skip
    path.write_text(yaml.safe_dump(config))
    return str(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", default=os.environ.get("JOBRELAY_ORACLE", ""))
    parser.add_argument("--only", default="")
    parser.add_argument("--at-once", type=int, default=12)
    parser.add_argument("--settle", type=float, default=4.0)
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()
    found = asyncio.run(compare(options.real, scripts(options.only), options.at_once, options.settle))
    if options.v:
        print("\n".join(line for lines in found.values() for line in lines))
    different = sum(bool(lines) for lines in found.values())
    print(f"{len(found) - different} of {len(found)} scripts the same")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
