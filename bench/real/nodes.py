"""Nodes of a real cluster, in a process that `bench.process.helper` starts; it exits when its standard input is closed.

python -m bench.real.nodes KUBECONFIG
"""

from __future__ import annotations

import asyncio
import json
import pathlib
import sys

from bench.connection import loop_factory
from jobrelay.kube import find_connection
from tools.kube.nodes import nodes


async def main(kubeconfig: str) -> None:
    async with nodes(find_connection(pathlib.Path(kubeconfig))):
        print(json.dumps({"ready": True}), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main(sys.argv[1]))
