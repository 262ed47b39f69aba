"""`jobrelay get`: delegated Jobs and workers, in every form."""

from __future__ import annotations

import json

import yaml

from jobrelay.cluster.node import NodeSettings
from jobrelay.kube import merge_patch
from jobrelay.kube.resource import JOBS
from tests.relay.fleets import MakeFleet

from .fleets import answering_fleet, call


async def test_jobs_are_shown_with_their_cluster_run_and_status(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet) as it:
        await it.submit()
        await it.submit("standard", managed_by=None)
        await it.finished()
        result = await call(it, "get", "jobs")
        head, row = result.stdout.splitlines()
        assert head.split() == ["NAME", "CLUSTER", "RUN", "STATUS", "COMPLETIONS", "AGE", "WHY"]
        assert row.split()[:5] == ["train", await it.place(), "1", "Complete", "1/1"]


async def test_a_waiting_job_says_why(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet) as it:
        await it.submit(annotations={"jobrelay.dev/clusters": "nowhere"})
        short = (await call(it, "get", "jobs")).stdout.splitlines()[1]
        assert short.split()[:4] == ["train", "-", "-", "Waiting"]
        assert "no worker of this name" in short
        assert "nowhere: no worker of this name is registered" in (await call(it, "get", "jobs", "-o", "wide")).stdout


async def test_workers_are_shown_with_state_jobs_and_room(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet, nodes=NodeSettings(runtime="scripted")) as it:
        head, *rows = (await call(it, "get", "workers")).stdout.splitlines()
        assert head.split() == ["NAME", "STATE", "JOBS", "NODES", "CPU", "MEMORY", "REASON"]
        assert [row.split()[:4] for row in rows] == [
            ["worker-1", "connected", "0", "1"],
            ["worker-2", "connected", "0", "1"],
        ]


async def test_programs_get_json_yaml_or_names(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet) as it:
        await it.submit()
        await it.finished()
        found = json.loads((await call(it, "get", "-o", "json")).stdout)
        assert [row["name"] for row in found["jobs"]] == ["train"]
        assert yaml.safe_load((await call(it, "get", "jobs", "-o", "yaml")).stdout)[0]["status"] == "Complete"
        names = (await call(it, "get", "-o", "name")).stdout.splitlines()
        assert names == ["worker/worker-1", "worker/worker-2", "job/train"]


async def test_namespaces_are_chosen_or_all_shown(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet) as it:
        await it.submit()
        await it.finished()
        other = await call(it, "get", "jobs", "-n", "kube-public")
        assert (other.stdout, other.stderr) == ("", "no delegated jobs found\n")
        assert (await call(it, "get", "jobs", "-A")).stdout.splitlines()[1].split()[:2] == ["default", "train"]


async def test_without_a_relay_the_management_cluster_is_shown(fleet: MakeFleet) -> None:
    async with fleet(start=False) as it:
        await it.submit()
        result = await call(it, "get", "jobs")
        assert result.exit_code == 0
        assert result.stdout.splitlines()[1].split()[:4] == ["train", "-", "-", "Waiting"]
        assert "note: no relay has run here: Lease jobrelay-system/jobrelay does not exist" in result.stderr


async def test_without_a_relay_workers_are_shown_by_their_objects(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet, registered=True) as it:
        result = await call(it, "get", "workers", "--lease-name", "another")
        assert [row.split()[:2] for row in result.stdout.splitlines()[1:]] == [
            ["worker-1", "unreachable"],
            ["worker-2", "unreachable"],
        ]
        assert "no relay has reported on it yet" in result.stdout


async def test_workers_cannot_be_watched(fleet: MakeFleet) -> None:
    async with fleet(start=False) as it:
        result = await call(it, "get", "workers", "-w")
        assert (result.exit_code, result.stderr.splitlines()[0]) == (
            2,
            "error: --watch works for workloads, not for workers",
        )


async def test_workloads_are_chosen_by_labels_and_by_status_and_counted(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet) as it:
        await it.submit("done")
        await it.finished("done")
        await it.submit("pinned", annotations={"jobrelay.dev/clusters": "nowhere"})
        await it.client.patch(JOBS, "done", merge_patch({"metadata": {"labels": {"team": "x"}}}), "default")
        assert (await call(it, "get", "jobs")).stderr == "2 workloads: 1 complete, 1 waiting\n"
        for choice, name in ((("-l", "team=x"), "done"), (("--status", "waiting,failed"), "pinned")):
            assert (await call(it, "get", "jobs", *choice, "-o", "name")).stdout == f"job/{name}\n"
        wrong = await call(it, "get", "jobs", "--status", "ill")
        assert (wrong.exit_code, "'ill' is none of complete, failed" in wrong.stderr) == (2, True)
