"""A fleet whose pods are processes, in which commands can be run, and whose workers are reached over the network."""

from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from jobrelay.cluster.node import NodeSettings
from jobrelay.kube import find_connection
from jobrelay.kube.resource import CLUSTERROLES, JOBS, PODS
from jobrelay.relay.workers import Timing, UsableKubeconfig, WorkerSpec
from tests.relay import fleets
from tests.relay.api import ApiFleet, serving_fleet
from tests.relay.fleets import QUICK, Fleet, job


@asynccontextmanager
async def process_fleet(
    workers: int = 1, *, start: bool = True, nodes: NodeSettings | None = None, timing: Timing = QUICK, **settings: Any
) -> AsyncIterator[Fleet]:
    """As `fleets.fleet`; the relay knows the workers' own addresses too."""
    nodes = nodes or NodeSettings()
    async with fleets.fleet(workers, start=False, nodes=nodes, timing=timing, **settings) as it:
        reach(it, {name: cluster.kubeconfig for name, cluster in it.workers.items()})
        if start:
            await it.start()
        yield it


def reach(it: Fleet, kubeconfigs: dict[str, pathlib.Path]) -> None:
    """Let the relay reach workers by these kubeconfigs."""
    it.source.specs = {
        name: WorkerSpec(name, UsableKubeconfig(find_connection(path), name), order)
        for order, (name, path) in enumerate(kubeconfigs.items())
    }


@asynccontextmanager
async def exec_fleet(workers: int = 1) -> AsyncIterator[ApiFleet]:
    """One whose relay serves its API."""
    async with serving_fleet(process_fleet, workers=workers) as served:
        await granted(served)
        yield served


async def granted(served: ApiFleet) -> None:
    """Wait until the right to run commands has become part of edit, which takes a moment."""

    async def has_become() -> bool:
        rules = (await served.it.client.get(CLUSTERROLES, "edit")).decode().get("rules") or ()
        return any("workloads/exec" in rule.get("resources", ()) for rule in rules)

    await served.it.until(has_become)


async def sleeping(it: Fleet, name: str = "train", **spec: Any) -> str:
    """Submit a Job that sleeps, and wait until the relay has seen a pod of it run; where that is."""
    made = job(name, **spec)
    made["spec"]["template"]["spec"]["containers"] = [
        {
            "name": "main", "image": "busybox", "command": ["sh", "-c", "while :; do sleep 1000; done"],
            "env": [{"name": "COLOUR", "value": "red"}],
        },
    ]  # fmt: skip
    made["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 1
    await it.client.create(JOBS, made)
    return await it.known_to_run(name)


async def running_pods(it: Fleet, worker: str, number: int, name: str = "train") -> list[str]:
    """Wait until so many pods of a Job run; their names."""

    async def run() -> list[str]:
        found = await it.on(worker).list(PODS, "default", label_selector=f"job-name={name}")
        names = [pod.name for pod in found.items if (pod.decode().get("status") or {}).get("phase") == "Running"]
        return sorted(names) if len(names) == number else []

    return list(await it.until(run))
