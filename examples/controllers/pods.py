"""Runs Jobs with `managedBy: example.com/pods` as pods, in the place of the cluster's own Job controller.

    python examples/controllers/pods.py

It is a whole Job controller for the cluster of your kubeconfig, with metrics and probes on a port of loopback.
"""

from __future__ import annotations

import asyncio

from jobrelay.kit import PodJobController
from jobrelay.kube import connect


async def main() -> None:
    async with connect() as client:
        controller = PodJobController(client, "example.com/pods", listen=("127.0.0.1", 0))
        await controller.run()


if __name__ == "__main__":
    asyncio.run(main())
