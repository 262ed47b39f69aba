"""Jobs live the same lives on a real cluster and on an embedded one that have the same nodes.

Whole Jobs, pods and events are compared after each step of `lives.yaml`, refusals and what `kubectl get` would print
too, with the means of `tests/oracle/job_scripts`. That room compares what controllers do with pods whose every status
is given by hand; here pods live by themselves.
"""

from __future__ import annotations

import asyncio
import json
import pathlib
import re
from typing import Any

import pytest
import yaml

from jobrelay.cluster import Cluster
from jobrelay.cluster.node import NodeSettings
from jobrelay.kube import Request, Resource
from jobrelay.kube.resource import EVENTS_CORE, JOBS, PODS
from tests.oracle.job_scripts.compare import Outcome, play
from tests.oracle.job_scripts.picture import neutral
from tests.oracle.job_scripts.player import Player
from tests.real.clusters import Planes, reached
from tools.kube.nodes import nodes

LIVES = yaml.safe_load(pathlib.Path(__file__).with_name("lives.yaml").read_text())
NODES = NodeSettings(runtime="scripted", cpu="64", memory="64Gi", name="lives")
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PASSING = frozenset({"Age", "Duration", "Last Seen", "First Seen", "Name", "Object", "Count"})
"""Columns with times, or with random parts of names that objects are compared by anyway."""
AGO = re.compile(r"\(\w+ ago\)")
"""When a container was started again last, which the column Restarts adds to their number."""


class TablePlayer(Player):
    """Looks at tables too."""

    async def look(self) -> dict[str, Any]:
        tables = {resource.plural: await self._table(resource) for resource in (JOBS, PODS, EVENTS_CORE)}
        return {**await super().look(), "tables": tables}

    async def _table(self, resource: Resource) -> dict[str, Any]:
        request = Request("GET", resource.path(self.namespace), {"Accept": TABLE})
        async with await self.client.transport.send(request) as answer:
            found = json.loads(await answer.read())
        columns = found["columnDefinitions"]
        lasting = [at for at, column in enumerate(columns) if column["name"] not in PASSING]
        shown = [[_lasting(row["cells"][at]) for at in lasting] for row in found["rows"]]
        rows = sorted((neutral(row, self.namespace) for row in shown), key=str)
        kinds = [{key: each[key] for key in ("name", "type", "format", "priority")} for each in columns]
        return {"columns": kinds, "rows": rows}


def _lasting(cell: Any) -> Any:
    return AGO.sub("(some time ago)", cell) if isinstance(cell, str) else cell


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
                return await play(real.client(), ours.client(), name, LIVES[name], TablePlayer)

        found = await asyncio.gather(*map(one, LIVES))
    differing = [line for outcome in found for line in outcome.lines]
    assert differing == [], "\n".join(differing)
