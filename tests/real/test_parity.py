"""Jobs live the same lives on a real cluster and on an embedded one that have the same nodes.

Whole Jobs, pods and events are compared after each step of `lives.yaml`, with the means of `tests/oracle/job_scripts`. That room compares what
controllers do with pods whose every status is given by hand; here pods live by themselves.
"""

from __future__ import annotations

import asyncio
import pathlib

import pytest
import yaml

from jobrelay.cluster import Cluster
from jobrelay.cluster.node import NodeSettings
from tests.oracle.job_scripts.compare import Outcome, play
from tests.real.clusters import Planes, reached
from tools.kube.nodes import nodes

LIVES = yaml.safe_load(pathlib.Path(__file__).with_name("lives.yaml").read_text())
NODES = NodeSettings(runtime="scripted", cpu="64", memory="64Gi", name="lives")


@pytest.mark.real
async def test_jobs_live_the_same_lives(planes: Planes) -> None:
    async with (
        reached(planes.get(["worker-1"])[0]) as real,
        nodes(real.connection, NODES),
        Cluster("lives", nodes=NODES) as ours,
    ):
        gate = asyncio.Semaphore(10)

        async def one(name: str) -> Outcome:
            async with gate:
                return await play(real.client(), ours.client(), name, LIVES[name])

        found = await asyncio.gather(*map(one, LIVES))
    differing = [line for outcome in found for line in outcome.lines]
    assert differing == [], "\n".join(differing)
