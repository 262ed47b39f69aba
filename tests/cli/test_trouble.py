"""What is true on the worker, in the same words wherever it is shown: get, explain, describe and the API."""

from __future__ import annotations

import json
import pathlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from click.testing import Result

from jobrelay.kube import Client, Resource
from jobrelay.kube.resource import JOBS
from tests.relay import fleets
from tests.relay.api import ApiFleet, serving_fleet
from tests.relay.fleets import MakeFleet, job

from .test_plain_user import run

WORKER = "worker-1"
RESOURCEQUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")


def scripted(annotations: dict[str, str], **spec: Any) -> dict[str, Any]:
    """A Job whose pods do what these annotations say."""
    made = job(seconds=1000, **spec)
    made["spec"]["template"]["metadata"]["annotations"] |= {
        f"jobrelay.dev/{key}": annotations[key] for key in annotations
    }
    return made


async def row_with(served: ApiFleet, kubeconfig: pathlib.Path, text: str) -> dict[str, Any]:
    """The row of the Job in `get`, as soon as its reason has this text."""

    async def shown() -> dict[str, Any] | None:
        [row] = json.loads((await run(kubeconfig, "get", "jobs", "-o", "json")).stdout)
        return row if text in row["why"] else None

    return dict(await served.it.until(shown, 60))


async def told(kubeconfig: pathlib.Path, command: str) -> dict[str, Any]:
    result: Result = await run(kubeconfig, command, "job/train", "-o", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    return dict(json.loads(result.stdout))


async def test_a_job_whose_pod_does_not_start_is_not_said_to_run(fleet: MakeFleet, tmp_path: pathlib.Path) -> None:
    async with serving_fleet(fleet, workers=1) as served:
        ann = await served.kubeconfig(tmp_path)
        await served.it.client.create(JOBS, scripted({"start-seconds": "1000"}))
        row = await row_with(served, ann, "None of its pods runs on worker-1")
        assert (row["status"], row["cluster"]) == ("NotRunning", WORKER)
        assert (await told(ann, "explain"))["stage"] == "NotRunning"
        assert (await told(ann, "describe"))["status"] == "NotRunning"
        assert "job/train" in (await run(ann, "get", "jobs", "--status", "notrunning", "-o", "name")).stdout


async def test_a_crash_is_told_with_exit_code_and_last_line_everywhere(tmp_path: pathlib.Path) -> None:
    async with serving_fleet(fleets.fleet, workers=1) as served:
        ann = await served.kubeconfig(tmp_path)
        failing = {"run-seconds": "0", "exit-code": "3", "log": "starts\nno such file: data.csv\n"}
        await served.it.client.create(JOBS, scripted(failing, backoffLimit=0))
        row = await row_with(served, ann, "ended with exit code 3: no such file: data.csv")
        assert row["status"] == "Failed"
        for command in ("explain", "describe"):
            found = await told(ann, command)
            assert [each.partition(": ")[2] for each in found["troubles"]] == [
                "container main ended with exit code 3: no such file: data.csv"
            ]
            assert found["sentence"] == row["sentence"]


@asynccontextmanager
async def no_pods(there: Client) -> AsyncIterator[None]:
    """A quota on a worker that allows no pods."""
    quota = {"metadata": {"name": "none", "namespace": "default"}, "spec": {"hard": {"pods": "0"}}}
    await there.create(RESOURCEQUOTAS, quota)
    try:
        yield
    finally:
        await there.delete(RESOURCEQUOTAS, "none", "default")


async def test_pods_that_a_quota_forbids_are_told_of(fleet: MakeFleet, tmp_path: pathlib.Path) -> None:
    async with serving_fleet(fleet, workers=1) as served, no_pods(served.it.on(WORKER)):
        ann, there = await served.kubeconfig(tmp_path), served.it.on(WORKER)

        async def counted() -> bool:
            found = (await there.get(RESOURCEQUOTAS, "none", "default")).decode()
            return bool((found.get("status") or {}).get("hard"))

        await served.it.until(counted, 60)
        await served.it.client.create(JOBS, job(seconds=1000))
        row = await row_with(served, ann, "Job/train: FailedCreate: ")
        assert (row["status"], "exceeded quota: none" in row["why"]) == ("NotRunning", True)


async def test_failed_indexes_are_told_while_others_run(tmp_path: pathlib.Path) -> None:
    async with serving_fleet(fleets.fleet, workers=1) as served:
        ann = await served.kubeconfig(tmp_path)
        indexed = {"completions": 3, "parallelism": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 0}
        await served.it.client.create(JOBS, scripted({"fail-indexes": "1", "run-seconds": "1"}, **indexed))
        row = await row_with(served, ann, "(index 1): container main ended with exit code 1")
        assert "failed indexes: 1" in (await told(ann, "explain"))["troubles"], row


async def test_a_worker_that_is_gone_shows_in_get(fleet: MakeFleet, tmp_path: pathlib.Path) -> None:
    async with serving_fleet(fleet, workers=1) as served:
        ann = await served.kubeconfig(tmp_path)
        await served.it.client.create(JOBS, job(seconds=1000))
        await served.it.runs()
        served.it.links[WORKER].partition()
        row = await row_with(served, ann, "worker-1 has been unreachable since")
        assert row["status"] == "Lost"
        shown = (await run(ann, "get", "jobs")).stdout
        assert "worker-1 has been unreachable since" in shown


async def test_without_the_relay_a_plain_user_is_told_that_it_does_not_answer(tmp_path: pathlib.Path) -> None:
    async with serving_fleet(fleets.fleet, workers=1) as served:
        ann = await served.kubeconfig(tmp_path)
        await served.it.submit(seconds=1000)
        await served.it.runs()
        await served.it.kill()
        for command in ("explain", "describe"):
            result = await run(ann, command, "job/train")
            assert result.exit_code == 0, result.stderr
        explained = await run(ann, "explain", "job/train")
        assert "note: the relay could not be reached: the relay does not answer: " in explained.stderr
        assert "hint: ask its operator" in explained.stderr
        assert "assigned to worker-1" in explained.stdout
