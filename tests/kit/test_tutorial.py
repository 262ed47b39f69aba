"""The tutorial is true: its code is that of the examples, its rights are enough, and the worked controllers run."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import pathlib
import re
import sys
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import yaml

from jobrelay.cluster import Cluster
from jobrelay.cluster.node import NodeSettings
from jobrelay.kit import ControllerRuntime, JobController, JobReport, ManagedJob, PodJobController, Succeeded
from jobrelay.kube import Client, Key, Request, Resource, Response, Transport
from jobrelay.kube.resource import EVENTS_CORE, JOBS, LEASES
from tests.relay.fleets import AnyCluster

from .jobs import MANAGER, job
from .test_tasks import ROOT, Scene, standin, until

PAGE = ROOT / "docs" / "guides" / "job-controller.md"
EXAMPLES = [ROOT / "examples" / "06_job_controller.py", *sorted((ROOT / "examples" / "controllers").glob("*.py"))]
CLUSTERROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.mark.parametrize("block", blocks("python"))
def test_code_of_the_tutorial_is_code_of_an_example(block: str) -> None:
    indented = [textwrap.indent(block, " " * width) for width in (0, 4, 8)]
    assert any(each in example.read_text() for example in EXAMPLES for each in indented)


def test_every_worked_controller_is_in_the_tutorial() -> None:
    assert all(f"{example.parent.name}/{example.name}" in PAGE.read_text() for example in EXAMPLES)
    assert len(blocks("python")) == 5


class ImpersonatingTransport:
    """Sends requests as another user."""

    def __init__(self, inner: Transport, user: str) -> None:
        self._inner, self._user = inner, user

    async def send(self, request: Request) -> Response:
        headers = {**request.headers, "Impersonate-User": self._user}
        return await self._inner.send(dataclasses.replace(request, headers=headers))


@asynccontextmanager
async def limited(cluster: AnyCluster, roles: int) -> AsyncIterator[Client]:
    """A client of a user who has the first roles of the tutorial."""
    admin, made = cluster.client(), [yaml.safe_load(text) for text in blocks("yaml")][:roles]
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "kit"}
    for role in made:
        name = role["metadata"]["name"]
        reference = {"kind": "ClusterRole", "apiGroup": "rbac.authorization.k8s.io", "name": name}
        await admin.create(CLUSTERROLES, role)
        await admin.create(BINDINGS, {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]})
    try:
        yield Client(ImpersonatingTransport(cluster.transport(), "kit"))
    finally:
        for role in made:
            await admin.delete(BINDINGS, role["metadata"]["name"])
            await admin.delete(CLUSTERROLES, role["metadata"]["name"])


@asynccontextmanager
async def running(controller: ControllerRuntime) -> AsyncIterator[None]:
    task = asyncio.create_task(controller.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


async def told(client: Client, reason: str) -> None:
    """Wait for an Event."""

    async def look() -> dict[str, object] | None:
        events = (await client.list(EVENTS_CORE, "default")).items
        return {} if any(each.decode()["reason"] == reason for each in events) else None

    await until(look)


async def test_the_rights_of_the_tutorial_are_enough(any_cluster: AnyCluster) -> None:
    async def reconcile(job: ManagedJob) -> None:
        await job.report(JobReport(succeeded=1, outcome=Succeeded()))
        job.event("Completed", "Job completed")

    async def clean_up(job: ManagedJob) -> None:
        cleaned.append(job.name)

    cleaned: list[str] = []
    admin = any_cluster.client()
    async with limited(any_cluster, 1) as client:
        controller = JobController(client, MANAGER, reconcile, clean_up=clean_up, lease=Key("default", "kit"))
        async with running(controller):
            await admin.create(JOBS, job())
            await Scene(admin).ended()
            await told(admin, "Completed")
            await until(lambda: no_finalizers(admin))
        assert cleaned == ["j"]
        assert (await admin.get(LEASES, "kit", "default")).decode()["spec"]["leaseTransitions"] == 0


async def no_finalizers(client: Client) -> dict[str, object] | None:
    return None if (await client.get(JOBS, "j", "default")).metadata.finalizers else {}


async def test_the_rights_for_pods_are_enough(any_cluster: AnyCluster) -> None:
    admin = any_cluster.client()
    async with limited(any_cluster, 2) as client, running(PodJobController(client, MANAGER)):
        await admin.create(JOBS, job(activeDeadlineSeconds=2))
        await Scene(admin).status(lambda status: status.get("active"))
        assert (await Scene(admin).ended())[0] == "Failed/DeadlineExceeded"
        for reason in ("SuccessfulCreate", "SuccessfulDelete", "DeadlineExceeded"):
            await told(admin, reason)


@asynccontextmanager
async def program(cluster: Cluster, name: str, *arguments: str, path: str = "") -> AsyncIterator[None]:
    """A worked controller as a process of its own, with the cluster's kubeconfig."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "KUBECONFIG": str(cluster.kubeconfig),
        "PATH": f"{path}:{os.environ['PATH']}",
    }
    example = str(ROOT / "examples" / "controllers" / name)
    process = await asyncio.create_subprocess_exec(sys.executable, example, *arguments, env=environment)
    try:
        yield
    finally:
        process.terminate()
        await process.wait()


async def test_the_controller_of_this_host_runs(tmp_path: pathlib.Path) -> None:
    async with Cluster("tests", nodes=NodeSettings(runtime="none")) as cluster:
        async with program(cluster, "local.py", str(tmp_path / "tasks")):
            scene = Scene(cluster.client())
            await scene.create(f"touch {tmp_path}/ran", managedBy="example.com/local")
            assert (await scene.ended())[0] == "Complete/CompletionsReached"
        assert (tmp_path / "ran").exists()


async def test_the_controller_of_a_batch_system_runs(tmp_path: pathlib.Path) -> None:
    commands = standin(tmp_path / "slurm")
    for call in (commands.submit, commands.queue, commands.accounting, commands.cancel):
        script = tmp_path / call[-1]
        script.write_text(f'#!/bin/sh\nexec {" ".join(call)} "$@"\n')
        script.chmod(0o755)
    async with (
        Cluster("tests", nodes=NodeSettings(runtime="none")) as cluster,
        program(cluster, "slurm.py", path=str(tmp_path)),
    ):
        scene = Scene(cluster.client())
        await scene.create("true", managedBy="example.com/slurm", completionMode="Indexed", completions=2)
        assert (await scene.ended())[1]["completedIndexes"] == "0,1"


async def test_the_controller_that_makes_pods_runs() -> None:
    async with (
        Cluster("tests", nodes=NodeSettings(runtime="scripted")) as cluster,
        program(cluster, "pods.py"),
    ):
        scene = Scene(cluster.client())
        await scene.create("true", managedBy="example.com/pods")
        assert (await scene.ended())[0] == "Complete/CompletionsReached"
