"""Workloads whose pods other objects describe are placed by what those say."""

from __future__ import annotations

from typing import Any

import pytest

from jobrelay.kube import Resource
from jobrelay.relay.dependencies.copies import RESOURCES
from jobrelay.workloads import load_adapters
from tests.relay.kinds.fleets import MANAGEMENT, KindsFleet
from tests.relay.kinds.table import Table, table

Obj = dict[str, Any]
ADAPTERS = {each.resource.kind: each for each in load_adapters(())}
RUNTIMES, TASKS = RESOURCES["TrainingRuntime"], RESOURCES["Task"]


def requests(cpu: int) -> Obj:
    return {"requests": {"cpu": str(cpu)}}


def runtime(cpu: int) -> Obj:
    """A runtime whose pods ask for so many CPUs."""
    template = {"spec": {"containers": [{"name": "node", "resources": requests(cpu)}]}}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    job = {"name": "node", "template": {"metadata": {"labels": labels}, "spec": {"template": template}}}
    return {"template": {"spec": {"replicatedJobs": [job]}}}


def task(cpu: int) -> Obj:
    return {"steps": [{"name": "main", "image": "busybox", "computeResources": requests(cpu)}]}


async def _describe(it: Table, resource: Resource, spec: Obj) -> None:
    """Have the object `torch` on both clusters."""
    await KindsFleet(it.fleet, resource).define(MANAGEMENT, "worker-1")
    head = {"apiVersion": resource.api_version, "kind": resource.kind}
    for cluster in (MANAGEMENT, "worker-1"):
        body = {**head, "metadata": {"name": "torch", "namespace": "default"}, "spec": spec}
        await it.on(cluster).create(resource, body)


async def _submit(it: Table, spec: Obj) -> None:
    body = it.case.body(it.adapter, min(it.adapter.managers))
    await it.on(MANAGEMENT).create(it.resource, body | {"spec": {"managedBy": min(it.adapter.managers), **spec}})


@pytest.mark.parametrize(
    ("kind", "resource", "describe", "spec"),
    [
        ("TrainJob", RUNTIMES, runtime, {"runtimeRef": {"name": "torch", "kind": "TrainingRuntime"}}),
        ("TaskRun", TASKS, task, {"taskRef": {"name": "torch"}}),
        ("PipelineRun", TASKS, task, {"pipelineSpec": {"tasks": [{"name": "main", "taskRef": {"name": "torch"}}]}}),
    ],
)
async def test_what_fits_on_no_node_waits_and_the_rest_runs(
    kind: str, resource: Resource, describe: Any, spec: Obj
) -> None:
    async with table(ADAPTERS[kind]) as it:
        await _describe(it, resource, describe(40))
        await _submit(it, spec)
        await it.explained("a pod needs 40 cpu, its largest node has 32 cpu", name="train")
        assert await it.get("worker-1", "train") is None
    async with table(ADAPTERS[kind]) as it:
        await _describe(it, resource, describe(30))
        await _submit(it, spec)
        await it.mirror(name="train")
