"""Runs Jobs with `managedBy: example.com/local` as processes of this host, on the cluster of your kubeconfig.

    python examples/controllers/local.py FOLDER

What tasks print is in the folder, until their Job is gone.
"""

from __future__ import annotations

import asyncio
import pathlib
import sys

from jobrelay.kit.tasks import LocalTasks, TaskController
from jobrelay.kube import connect


async def main(folder: pathlib.Path) -> None:
    async with connect() as client:
        await TaskController(client, "example.com/local", LocalTasks(folder)).run()


if __name__ == "__main__":
    asyncio.run(main(pathlib.Path(sys.argv[1])))
