"""JobSets on a cluster as people start it."""

from __future__ import annotations

import asyncio
import pathlib
import re
import signal
import sys
from typing import Any

import pytest
import yaml

from jobrelay.kube import Client, Resource, connect
from jobrelay.kube.resource import JOBS, PODS

from .command import ROOT, end, ready, run, started

JOBSETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
OPTIONS = ("--controllers", "all,jobset", "--runtime", "scripted")


def jobset(seconds: float) -> dict[str, Any]:
    pod = {
        "metadata": {"annotations": {"jobrelay.dev/run-seconds": str(seconds)}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    return {
        "apiVersion": JOBSETS.api_version,
        "kind": JOBSETS.kind,
        "metadata": {"name": "s", "namespace": "default"},
        "spec": {"replicatedJobs": [{"name": "w", "replicas": 2, "template": {"spec": {"template": pod}}}]},
    }


async def until(client: Client, name: str = "s", **wanted: Any) -> dict[str, Any]:
    """Waits until the status has these values."""
    async with asyncio.timeout(60):
        while True:
            status: dict[str, Any] = (await client.get(JOBSETS, name, "default")).decode().get("status") or {}
            counters = (status.get("replicatedJobsStatus") or [{}])[0]
            if all({**status, **counters}.get(key) == value for key, value in wanted.items()):
                return status
            await asyncio.sleep(0.05)


async def job_uids(client: Client) -> set[str]:
    return {each.uid for each in (await client.list(JOBS, "default")).items}


async def test_a_jobset_outlives_a_cluster_that_is_killed(tmp_path: pathlib.Path) -> None:
    with started("dev", "--dir", tmp_path, *OPTIONS) as process:
        ready(process)
        assert run("cluster", "crds", "add", "jobset", "-c", "dev", "--dir", tmp_path).returncode == 0
        async with connect(tmp_path / "dev.kubeconfig") as client:
            await client.create(JOBSETS, jobset(3))
            await until(client, active=2)
            jobs = await job_uids(client)
        end(process, signal.SIGKILL)
    with started("dev", "--dir", tmp_path, *OPTIONS) as process:
        ready(process)
        async with connect(tmp_path / "dev.kubeconfig") as client:
            await until(client, terminalState="Completed", succeeded=2, restarts=0)
            assert await job_uids(client) == jobs
        assert end(process) == 0


async def _log(client: Client, pod: str) -> str:
    async with client.logs(pod, "default") as chunks:
        return b"".join([chunk async for chunk in chunks]).decode()


@pytest.mark.skipif(sys.platform != "linux", reason="pods run as processes on Linux only")
async def test_the_jobset_of_the_guide_runs(tmp_path: pathlib.Path) -> None:
    guide = (ROOT / "docs" / "guides" / "custom-kinds.md").read_text()
    (text,) = re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)
    with started("dev", "--dir", tmp_path, "--memory", "--controllers", "all,jobset") as process:
        ready(process)
        run("cluster", "crds", "add", "jobset", "-c", "dev", "--dir", tmp_path)
        async with connect(tmp_path / "dev.kubeconfig") as client:
            await client.create(JOBSETS, yaml.safe_load(text), "default")
            await until(client, "hello", terminalState="Completed", succeeded=2)
            pods = (await client.list(PODS, "default")).items
            said = sorted([await _log(client, pod.name) for pod in pods])
    assert "".join(said) in guide


def test_an_unknown_controller_is_an_error(tmp_path: pathlib.Path) -> None:
    result = run("up", "--dir", tmp_path / "fleet", "--controllers", "all,jobsets")
    assert result.returncode == 2
    assert "error: --controllers: unknown controller 'jobsets'; there are " in result.stderr
    assert "jobset\nhint: " in result.stderr
