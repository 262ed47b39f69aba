"""Every command that a plain user needs, with nothing but their own kubeconfig: edit in one namespace."""

from __future__ import annotations

import asyncio
import json
import pathlib

import pytest
from aiohttp import web
from click.testing import CliRunner, Result

from jobrelay.cli import root
from jobrelay.cli.kinds import Kinds
from jobrelay.cli.management import Management
from jobrelay.cli.top.fleet_source import FleetSource
from jobrelay.kube.resource import JOBS
from jobrelay.relay.api.names import BASE, service_host
from jobrelay.relay.api.registration import Registered
from jobrelay.sdk import AsyncRelay
from tests.loopback import LoopbackServer, authority, server_context
from tests.relay import fleets
from tests.relay.api import ApiFleet, is_available, serving_fleet, talking
from tests.relay.fleets import NAMESPACE, MakeFleet
from tests.relay.test_api_preview import until_previews


async def run(kubeconfig: pathlib.Path, *arguments: str) -> Result:
    command = [*arguments, "--kubeconfig", str(kubeconfig)]
    return await asyncio.to_thread(CliRunner().invoke, root, command, catch_exceptions=False)


async def run_before(kubeconfig: pathlib.Path, *arguments: str) -> Result:
    """For commands that take another one behind `--`."""
    at = arguments.index("--")
    command = [*arguments[:at], "--kubeconfig", str(kubeconfig), *arguments[at:]]
    return await asyncio.to_thread(CliRunner().invoke, root, command, catch_exceptions=False)


async def running_job(served: ApiFleet) -> str:
    await served.it.submit(seconds=1000)
    return await served.it.known_to_run()


async def test_get_shows_workers_and_jobs(fleet: MakeFleet, tmp_path: pathlib.Path) -> None:
    async with serving_fleet(fleet) as served:
        ann = await served.kubeconfig(tmp_path)
        worker = await running_job(served)
        result = await run(ann, "get", "-o", "json")
        assert (result.exit_code, result.stderr) == (0, "")
        found = json.loads(result.stdout)
        assert [(each["name"], each["cluster"]) for each in found["jobs"]] == [("train", worker)]
        assert [(each["name"], each["jobs"]) for each in found["workers"]] == [
            (name, int(name == worker)) for name in ("worker-1", "worker-2")
        ]
        assert "sentence" in found["jobs"][0]


async def test_explain_gives_the_verdicts_and_the_pods(fleet: MakeFleet, tmp_path: pathlib.Path) -> None:
    async with serving_fleet(fleet) as served:
        ann = await served.kubeconfig(tmp_path)
        worker = await running_job(served)
        result = await run(ann, "explain", "job/train")
        assert (result.exit_code, result.stderr) == (0, "")
        assert f"  cluster   {worker} (run 1)" in result.stdout
        assert "  pods      1 Running" in result.stdout
        assert "Workers, if it were placed now:" in result.stdout


async def test_a_dry_run_says_which_workers_could_take_it(fleet: MakeFleet, tmp_path: pathlib.Path) -> None:
    async with serving_fleet(fleet) as served:
        ann = await served.kubeconfig(tmp_path)
        async with served.user() as client:
            await until_previews(served, client)
        command = ("submit", "--name", "planned", "--image", "busybox", "--dry-run", "--", "true")
        result = await run_before(ann, *command)
        assert (result.exit_code, result.stderr) == (0, "")
        assert "job/planned could run on worker-1, worker-2 now. Nothing was created." in result.stdout


async def test_logs_come_through_the_relay(tmp_path: pathlib.Path) -> None:
    async with serving_fleet(fleets.fleet) as served:
        ann = await served.kubeconfig(tmp_path)
        await served.it.client.create(JOBS, talking())
        await served.it.finished()
        plain, followed = await run(ann, "logs", "job/train"), await run(ann, "logs", "job/train", "-f", "--prefix")
        assert (plain.exit_code, plain.stdout, plain.stderr) == (0, "hello\nbye\n", "")
        assert [line.partition("] ")[2] for line in followed.stdout.splitlines()] == ["hello", "bye"]


async def test_programs_read_logs_through_the_relay_too(tmp_path: pathlib.Path) -> None:
    async with serving_fleet(fleets.fleet) as served:
        ann = await served.kubeconfig(tmp_path)
        await served.it.client.create(JOBS, talking())
        await served.it.finished()
        async with AsyncRelay.connect(ann) as relay:
            lines = [(line.container, line.text) async for line in relay.logs("job/train")]
        assert lines == [("main", "hello"), ("main", "bye")]


async def test_a_submitted_job_is_followed_to_its_end(tmp_path: pathlib.Path) -> None:
    async with serving_fleet(fleets.fleet) as served:
        ann = await served.kubeconfig(tmp_path)
        manifest = tmp_path / "train.json"
        manifest.write_text(json.dumps(talking()))
        result = await run(ann, "submit", str(manifest), "--logs")
        assert (result.exit_code, result.stdout) == (0, "hello\nbye\n")
        assert result.stderr.endswith("job/train succeeded\n")


async def test_workers_are_listed_as_their_namespace_sees_them(fleet: MakeFleet, tmp_path: pathlib.Path) -> None:
    async with serving_fleet(fleet) as served:
        ann = await served.kubeconfig(tmp_path)
        result = await run(ann, "worker", "list", "-o", "name")
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout.splitlines() == ["worker/worker-1", "worker/worker-2"]


async def test_top_shows_what_get_shows_and_the_logs(tmp_path: pathlib.Path) -> None:
    async with serving_fleet(fleets.fleet) as served:
        ann = await served.kubeconfig(tmp_path)
        await served.it.client.create(JOBS, talking())
        await served.it.finished()
        result = await run(ann, "top", "--once", "-o", "json")
        (row,) = json.loads(result.stdout)["workloads"]
        assert (result.stderr, row["name"], row["status"]) == ("", "train", "Complete")
        async with Kinds().relay(Management(ann)) as relay:
            source = FleetSource(relay, Management(ann), Kinds(), everywhere=False)
            assert [line async for line in source.logs(row)] == ["hello", "bye"]
            assert (await source.explain(row))[0].startswith("It is complete, on worker-")


async def test_logs_say_why_there_are_none(fleet: MakeFleet, tmp_path: pathlib.Path) -> None:
    async with serving_fleet(fleet) as served:
        ann = await served.kubeconfig(tmp_path)
        await served.it.submit(annotations={"jobrelay.dev/clusters": "nowhere"})
        result = await run(ann, "logs", "job/train", "--pod-running-timeout", "0s")
        assert result.exit_code == 2
        assert "error: no worker runs Job default/train yet" in result.stderr
        assert "hint: `jobrelay explain" in result.stderr


@pytest.mark.parametrize("command", [("explain", "job/train"), ("logs", "job/train")])
async def test_a_neighbour_s_job_is_refused(fleet: MakeFleet, tmp_path: pathlib.Path, command: tuple[str, str]) -> None:
    async with serving_fleet(fleet) as served:
        bob = await served.kubeconfig(tmp_path, "bob", "other")
        await running_job(served)
        result = await run(bob, *command, "-n", "default")
        assert result.exit_code == 2
        assert "forbidden" in result.stderr.lower()
        assert "train" not in result.stdout


async def test_another_program_behind_the_registration_is_told(tmp_path: pathlib.Path) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text="a web page" if request.path != BASE else '{"resources": []}')

    async with fleets.fleet() as it, LoopbackServer(answer, server_context(service_host(NAMESPACE))) as other:
        for resource, body in Registered(NAMESPACE, authority().pair.certificate, "localhost", other.port).objects():
            await it.client.create(resource, body)
        await it.until(lambda: is_available(it.client))
        await it.submit()
        result = await run(it.management.kubeconfig, "explain", "job/train")
        assert result.exit_code == 0
        assert "APIService v1.relay.jobrelay.dev leads to something that is not a relay" in result.stderr
