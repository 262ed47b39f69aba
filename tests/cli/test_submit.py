"""`jobrelay submit`, `wait`, `cancel` and `rerun`: what they print, and with which code they exit."""

from __future__ import annotations

import asyncio
import json
import pathlib
import shlex
import signal
import subprocess

import yaml
from click.testing import CliRunner

from jobrelay.cli import root
from jobrelay.cli.management import Management
from jobrelay.cli.preview import preview_lines
from jobrelay.cli.waiting import Waiting, exit_code, result_line
from jobrelay.kube.resource import JOBS
from jobrelay.sdk import SubmittedWorkload, WorkloadResult
from tests.relay.fleets import MakeFleet, job

from .command import COMMAND, ENVIRONMENT
from .fleets import answering_fleet, call

MADE = SubmittedWorkload("Job", "research", "train", "1")
GOOD = WorkloadResult("Job", "research", "train", True, "CompletionsReached", "done")
BAD = WorkloadResult("Job", "research", "train", False, "BackoffLimitExceeded", "it has failed too often")
HELLO = ("submit", "--name", "hello", "--image", "busybox", "--annotation", "jobrelay.dev/clusters=worker-1")


def written(folder: pathlib.Path, *bodies: object) -> str:
    path = folder / "jobs.yaml"
    path.write_text(yaml.safe_dump_all(bodies))
    return str(path)


async def test_a_file_is_submitted_and_its_name_printed(fleet: MakeFleet, tmp_path: pathlib.Path) -> None:
    async with fleet(start=False) as it:
        source = written(tmp_path, job("a", managed_by=None), job("b", managed_by=None))
        result = await call(it, "submit", source, "-o", "name")
        assert (result.exit_code, result.stdout) == (0, "job/a\njob/b\n")
        assert result.stderr == "job/a submitted in namespace default\njob/b submitted in namespace default\n"
        assert (await it.job("a"))["spec"]["managedBy"] == "jobrelay.dev/relay"


async def test_options_and_a_command_make_a_job(fleet: MakeFleet) -> None:
    async with fleet(start=False) as it:
        words = [*HELLO, "--cpu", "2", "--kubeconfig", str(it.management.kubeconfig), "--", "sh", "-c", "exit 0"]
        assert (await asyncio.to_thread(CliRunner().invoke, root, words)).exit_code == 0
        container = (await it.job("hello"))["spec"]["template"]["spec"]["containers"][0]
        assert (container["command"], container["resources"]["requests"]) == (["sh", "-c", "exit 0"], {"cpu": "2"})


async def test_waiting_ends_with_the_result_of_the_workload(fleet: MakeFleet, tmp_path: pathlib.Path) -> None:
    async with answering_fleet(fleet) as it:
        failing = job("bad", backoffLimit=0)
        failing["spec"]["template"]["metadata"]["annotations"]["jobrelay.dev/exit-code"] = "3"
        good = await call(it, *HELLO, "--wait")
        assert (good.exit_code, good.stdout) == (0, "")
        assert good.stderr.splitlines() == [
            "job/hello submitted in namespace default",
            "job/hello is placed on worker-1 (run 1)",
            "job/hello succeeded",
        ]
        bad = await call(it, "submit", written(tmp_path, failing), "--wait", "-o", "json")
        assert (bad.exit_code, json.loads(bad.stdout)[0]["reason"]) == (1, "BackoffLimitExceeded")
        both = await call(it, "wait", "hello", "job/bad", "-o", "json")
        assert (both.exit_code, [each["succeeded"] for each in json.loads(both.stdout)]) == (1, [True, False])


async def test_a_dry_run_creates_nothing_and_tells_of_every_worker(embedded_fleet: MakeFleet) -> None:
    async with answering_fleet(embedded_fleet) as it:
        result = await call(it, *HELLO, "--cpu", "10000", "--dry-run")
        assert result.exit_code == 3
        first, *lines = result.stdout.splitlines()
        assert first == "job/hello could run on no worker now. Nothing was created."
        assert [line.split()[:2] for line in lines if "   no   " in line] == [["worker-1", "no"], ["worker-2", "no"]]
        assert any("a pod needs 10000 cpu" in line for line in lines)
        assert not (await it.client.list(JOBS, "default")).items
        good = await call(it, *HELLO, "--dry-run", "-o", "json")
        assert (good.exit_code, [each["ok"] for each in json.loads(good.stdout)[0]["workers"]]) == (0, [True, False])


async def test_a_dry_run_needs_the_relay(fleet: MakeFleet) -> None:
    async with fleet(start=False) as it:
        result = await call(it, *HELLO, "--dry-run")
        assert result.exit_code == 2
        assert result.stderr.startswith("error: only the relay can say which workers could take it: no relay has run")


async def test_mistakes_are_errors_with_hints(fleet: MakeFleet, tmp_path: pathlib.Path) -> None:
    async with fleet(start=False) as it:
        source = written(tmp_path, job(managed_by="example.com/me"))
        for arguments, message in {
            ("--name", "a"): "error: a Job from options needs --image",
            ("--image", "a"): "error: a Job from options needs --name",
            (source, "--image", "a"): "error: files and options of a new Job cannot be combined",
            (source,): f"error: {source}: spec.managedBy of the Job is example.com/me, which does not delegate it",
            (str(tmp_path / "none.yaml"),): f"error: {tmp_path}/none.yaml cannot be read",
            (*HELLO[1:], "--env", "x"): "error: --env x: not KEY=VALUE",
            (*HELLO[1:], "--cpu", "many"): "error: --cpu many: not a quantity",
            (*HELLO[1:], "--logs", "-o", "json"): "error: --logs prints the logs of one workload on stdout",
            (*HELLO[1:], "--timeout", "1s"): "error: --timeout is how long to wait, and it is not waited",
        }.items():
            result = await call(it, "submit", *arguments)
            assert (result.exit_code, result.stdout) == (2, "")
            assert result.stderr.startswith(message), result.stderr
        assert not (await it.client.list(JOBS, "default")).items


async def test_another_namespace_than_that_of_the_file_is_an_error(fleet: MakeFleet, tmp_path: pathlib.Path) -> None:
    async with fleet(start=False) as it:
        result = await call(it, "submit", written(tmp_path, job(managed_by=None)), "-n", "other")
        assert "is for namespace default, not other" in result.stderr


async def test_cancel_and_rerun_say_what_they_did(fleet: MakeFleet) -> None:
    async with answering_fleet(fleet) as it:
        assert (await call(it, *HELLO, "--wait")).exit_code == 0
        again = await call(it, "rerun", "job/hello", "--name", "second", "-o", "name", "--wait")
        assert (again.exit_code, again.stdout) == (0, "job/second\n")
        await it.submit("long", seconds=1000)
        result = await call(it, "cancel", "long", "hello")
        assert result.stderr == "job/long cancelled: it was deleted\njob/hello has ended already: nothing was done\n"
        assert [each.name for each in (await it.client.list(JOBS, "default")).items] == ["hello", "second"]


def interrupted(*arguments: str) -> tuple[int, list[str]]:
    """A command that gets Ctrl-C as soon as its workload is placed; its code and what it printed then."""
    with subprocess.Popen([*COMMAND, *arguments], stderr=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        assert process.stderr is not None
        try:
            while "is placed on" not in (line := process.stderr.readline()):
                assert line, "it has ended"
            process.send_signal(signal.SIGINT)
            return process.wait(30), process.stderr.read().splitlines()
        finally:
            process.kill()


async def test_ctrl_c_detaches_and_prints_a_command_that_comes_back(fleet: MakeFleet, tmp_path: pathlib.Path) -> None:
    async with answering_fleet(fleet) as it:
        source, kubeconfig = written(tmp_path, job(seconds=1000)), str(it.management.kubeconfig)
        code, lines = await asyncio.to_thread(interrupted, "submit", source, "--wait", "--kubeconfig", kubeconfig)
        way_back = shlex.join(["jobrelay", "wait", "job/train", "-n", "default", "--kubeconfig", kubeconfig])
        assert (code, lines) == (130, [f"detached: job/train goes on; to come back: {way_back}"])
        assert (await it.job())["metadata"].get("deletionTimestamp") is None


def test_the_way_back_names_the_same_cluster_and_can_be_pasted() -> None:
    management = Management(pathlib.Path("my kubeconfig"), "west")
    waiting = Waiting("text", None, True, True, management, (pathlib.Path("kind.yaml"),))
    assert waiting.way_back(MADE) == (
        "jobrelay logs -f job/train -n research --kubeconfig 'my kubeconfig' --context west --kind-file kind.yaml"
    )


def test_a_failure_counts_more_than_a_timeout() -> None:
    assert [exit_code(each) for each in ([GOOD], [GOOD, None], [None, BAD, GOOD])] == [0, 124, 1]


def test_a_result_is_one_line() -> None:
    assert result_line(GOOD) == "job/train succeeded"
    assert result_line(BAD) == "job/train failed: BackoffLimitExceeded: it has failed too often"


def test_a_preview_without_verdicts_gives_the_reason() -> None:
    found = {"kind": "Job", "name": "train", "stage": "Suspended", "sentence": "It is suspended."}
    assert list(preview_lines(found)) == [
        "job/train could run on no worker now. Nothing was created.",
        "  reason    It is suspended.",
    ]
