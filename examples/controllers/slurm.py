"""Hands Jobs with `managedBy: example.com/slurm` of the cluster of your kubeconfig to Slurm.

    python examples/controllers/slurm.py [OPTION OF SBATCH...]

It needs Slurm's commands on PATH. Two of them may run at a time: one leads, the other stands by.
"""

from __future__ import annotations

import asyncio
import sys

from jobrelay.kit.tasks import SlurmCommands, SlurmTasks, TaskController
from jobrelay.kube import Key, connect


async def main(options: list[str]) -> None:
    commands = SlurmCommands(submit=("sbatch", *options))
    lease = Key("default", "slurm-controller")
    async with connect() as client:
        await TaskController(client, "example.com/slurm", SlurmTasks(commands), lease=lease).run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
