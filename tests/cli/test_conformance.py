"""`jobrelay conformance`: what the commands print, the files that they write, and their end."""

from __future__ import annotations

import asyncio
import json
import pathlib
import signal
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from jobrelay.cli import root
from jobrelay.cluster import Cluster
from jobrelay.cluster.node import NodeSettings
from jobrelay.kube import Client, EventType
from jobrelay.kube.resource import JOBS, NAMESPACES
from tests.conformance.test_recording import recorded, wrong_history
from tests.conformance.test_workspace import crashed_run
from tests.relay.fleets import job

from .command import COMMAND, ENVIRONMENT

QUICK = ("--only", "no-completions", "--only", "created-suspended")


def conformance(*arguments: object) -> Result:
    return CliRunner().invoke(root, ["conformance", *map(str, arguments)], catch_exceptions=False)


async def on(cluster: Cluster, *arguments: object) -> Result:
    """A command on a cluster of this process."""
    return await asyncio.to_thread(conformance, *arguments, "--kubeconfig", cluster.kubeconfig)


async def runs_left(client: Client) -> list[str]:
    return [each.name for each in (await client.list(NAMESPACES)).items if "conformance" in each.name]


def test_scenarios_are_listed() -> None:
    lines = conformance("run", "--list").stdout.splitlines()
    assert lines[0].split() == ["NAME", "LEVEL", "FEATURE", "SUMMARY"]
    assert any(line.startswith("success-policy ") and "complete" in line for line in lines)
    listed = json.loads(conformance("run", "--list", "-o", "json").stdout)
    assert len(listed) == len(lines) - 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["run", "--only", "nonsense"], "error: there is no scenario 'nonsense'"),
        (["run", "--managed-by", "jobs"], "error: no Job can have managedBy 'jobs'"),
        (["run", "--only", "plain", "--badge", "x.svg"], "error: --badge and --only do not go together"),
        (["watch", "--replay", "missing.jsonl"], "error: missing.jsonl cannot be read"),
        (["watch", "--replay", "x", "--record", "y"], "error: --replay reads a file and takes no other option"),
    ],
)
def test_what_cannot_be_done_is_said_with_a_hint(arguments: list[str], error: str) -> None:
    result = conformance(*arguments)
    assert (result.exit_code, result.stderr.startswith(error)) == (2, True)
    assert "\nhint: " in result.stderr


async def test_a_run_prints_a_table_and_writes_files(tmp_path: pathlib.Path) -> None:
    async with Cluster() as cluster:
        result = await on(cluster, "run", *QUICK, "--junit", tmp_path / "j.xml")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0].split() == ["SCENARIO", "LEVEL", "RESULT", "RULES", "SECONDS"]
    assert "2 of 2 scenarios passed" in result.stdout
    assert "2/2" in result.stderr
    assert len(ElementTree.parse(tmp_path / "j.xml").findall("testcase")) == 2


async def test_jobs_get_the_labels_that_a_controller_needs() -> None:
    async with Cluster() as cluster:
        asked = ("run", "--only", "no-completions", "--label", "example.com/queue=main", "-n", "default")
        running = asyncio.create_task(on(cluster, *asked))
        async with asyncio.timeout(30), cluster.client().watch(JOBS, "default") as events:
            async for event in events:
                if event.type is EventType.ADDED:
                    break
        assert event.object.metadata.labels["example.com/queue"] == "main"
        assert (await running).exit_code == 0
    assert "is not a label" in conformance("run", "--label", "x").stderr


async def test_a_failure_is_told_with_its_rule_and_its_story() -> None:
    async with Cluster() as cluster:
        asked = ("run", "--managed-by", "example.com/absent", "--only", "plain", "--patience", "500ms")
        result = await on(cluster, *asked)
        shown = json.loads((await on(cluster, *asked, "-o", "json")).stdout)
    assert result.exit_code == 1
    assert "  R1  A Job that names the controller gets a status." in result.stdout
    assert "a status was expected within 0.5 s" in result.stdout
    assert (shown["passed"], shown["level"], shown["results"][0]["outcome"]) == (False, None, "failed")


async def test_a_whole_level_makes_a_badge(tmp_path: pathlib.Path) -> None:
    async with Cluster() as cluster:
        result = await on(cluster, "run", "--level", "observes", "--badge", tmp_path / "b.svg")
    assert (result.exit_code, "level observes; 4 of 4" in result.stdout) == (0, True)
    assert "Job conformance: observes" in (tmp_path / "b.svg").read_text()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_a_run_that_is_ended_cleans_up(number: signal.Signals, code: int) -> None:
    async with Cluster() as cluster:
        command = [*COMMAND, "conformance", "run", "--kubeconfig", str(cluster.kubeconfig)]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command, env=ENVIRONMENT, stdout=pipe, stderr=pipe, preexec_fn=_interruptible
        )
        assert process.stderr is not None
        assert b"judging" in await process.stderr.readline()
        assert b"passed" in await process.stderr.readline()
        assert await runs_left(cluster.client()) != []
        process.send_signal(number)
        await process.communicate()
        assert (process.returncode, await runs_left(cluster.client())) == (code, [])
        assert (await cluster.client().list(JOBS)).items == ()


def _interruptible() -> None:
    """The process may have been started with Ctrl-C ignored, and would inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


async def test_what_a_crashed_run_has_left_is_removed() -> None:
    async with Cluster() as cluster:
        await crashed_run(cluster.client(), "crashed", 600)
        assert (await on(cluster, "clean")).stdout == ""
        assert (await on(cluster, "clean", "--all")).stdout == "crashed\n"
        assert await runs_left(cluster.client()) == []


async def test_a_living_cluster_is_audited_and_recorded(tmp_path: pathlib.Path) -> None:
    async with Cluster(nodes=NodeSettings(runtime="scripted")) as cluster:
        file = tmp_path / "jobs.jsonl"
        watching = asyncio.create_task(on(cluster, "watch", "--for", "5s", "--record", file))
        await _grows(file)
        await cluster.client().create(JOBS, job(managed_by=None))
        result = await watching
    assert (result.exit_code, result.stdout) == (0, "")
    assert "kubernetes.io/job-controller: " in result.stderr
    assert "nothing wrong" in result.stderr
    assert conformance("watch", "--replay", file).exit_code == 0


async def _grows(file: pathlib.Path) -> None:
    async with asyncio.timeout(30):
        while not file.exists():
            await asyncio.sleep(0.05)


async def test_a_step_that_is_not_right_is_printed_with_both_statuses(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "jobs.jsonl"
    file.write_bytes(b"".join(recorded(wrong_history())))
    result = conformance("watch", "--replay", file)
    assert result.exit_code == 1
    assert "illegal: S29: status.failed: Invalid value: 0: cannot decrease the failed counter" in result.stdout
    assert [line.split()[0] for line in result.stdout.splitlines()[3:]] == ["before", "after"]
    found = json.loads(conformance("watch", "--replay", file, "-o", "json").stdout)
    assert (found["rule"], found["severity"], found["writers"]) == ("S29", "illegal", ["m"])


async def test_metrics_are_served_while_it_watches() -> None:
    import aiohttp

    from jobrelay.cluster.ports import listen

    with listen(0) as socket:
        port = socket.getsockname()[1]
    async with Cluster() as cluster:
        watching = asyncio.create_task(on(cluster, "watch", "--for", "6s", "--listen", f"127.0.0.1:{port}"))
        async with asyncio.timeout(20), aiohttp.ClientSession() as session:
            while True:
                try:
                    async with session.get(f"http://127.0.0.1:{port}/metrics") as answer:
                        assert "jobrelay_conformance_steps_total" in await answer.text()
                        break
                except aiohttp.ClientConnectorError:
                    await asyncio.sleep(0.1)
        await watching


def test_completion_knows_scenarios_and_controllers() -> None:
    environment = {"_JOBRELAY_COMPLETE": "bash_complete", "COMP_WORDS": "jobrelay conformance run --only pla"}
    found = CliRunner().invoke(root, [], prog_name="jobrelay", env=environment | {"COMP_CWORD": "4"})
    assert found.stdout == "plain,plain\n"
