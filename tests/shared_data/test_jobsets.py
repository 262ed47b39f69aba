"""JobSets of JobSet's own examples, run by the embedded cluster's controller with scripted pods."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from jobrelay.cluster import Cluster, NodeSettings
from jobrelay.kube import Client
from jobrelay.kube.resource import EVENTS, Resource
from jobrelay.operate.crds import install_definitions, read_definitions
from tests.apimachinery.documents import documents

Obj = dict[str, Any]

SHARED = Path(__file__).parents[3] / "shared"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not SHARED.is_dir(), reason="no ../shared folder with CRDs and manifests beside the repository"),
]
JOBSETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
NODES = NodeSettings(runtime="scripted", cpu="10000", memory="10000Gi")


def examples() -> list[Any]:
    found = []
    for path in sorted((SHARED / "examples" / "jobset").rglob("*.yaml")):
        read = documents(path.read_text())
        found += [pytest.param(each, id=path.stem) for each in read if each["kind"] == "JobSet"]
    return found


@pytest.mark.parametrize("jobset", examples())
async def test_an_example_comes_to_its_end(jobset: Obj) -> None:
    async with Cluster(controllers="all,jobset", nodes=NODES) as cluster:
        client = cluster.client()
        await install_definitions(client, read_definitions(["jobset"]).found)
        made = await client.create(JOBSETS, {**jobset, "metadata": {**jobset["metadata"], "namespace": "default"}})
        status = await _end(client, made.name)
        told = [each.decode()["reason"] for each in (await client.list(EVENTS, "default")).items]
        assert status["terminalState"] == "Completed"
        assert not {"InvalidJobSet", "JobCreationFailed", "UnsupportedAction"} & set(told)


async def _end(client: Client, name: str) -> Obj:
    async with asyncio.timeout(15):
        while True:
            status: Obj = (await client.get(JOBSETS, name, "default")).decode().get("status") or {}
            if status.get("terminalState"):
                return status
            await asyncio.sleep(0.1)
