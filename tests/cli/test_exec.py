"""`jobrelay exec`, as an administrator and as a plain user, in pods that are processes.

Real clusters in these tests have no kubelets, so there is nothing that could run a command in a pod of theirs.
"""

from __future__ import annotations

import asyncio
import pathlib

from click.testing import CliRunner, Result

from jobrelay.cli import root
from jobrelay.operate.registry import register_worker
from tests.cli.exec_fleets import exec_fleet, process_fleet, running_pods, sleeping
from tests.relay.fleets import NAMESPACE


async def run(kubeconfig: pathlib.Path, *arguments: str, given: bytes = b"") -> Result:
    head, tail = arguments[: arguments.index("--")], arguments[arguments.index("--") :]
    command = ["exec", *head, "--kubeconfig", str(kubeconfig), *tail]
    return await asyncio.to_thread(CliRunner().invoke, root, command, input=given, catch_exceptions=False)


async def test_a_plain_user_runs_a_command_in_their_pod(tmp_path: pathlib.Path) -> None:
    async with exec_fleet() as served:
        ann = await served.kubeconfig(tmp_path)
        await sleeping(served.it)
        result = await run(ann, "job/train", "--", "sh", "-c", "echo $COLOUR; echo aside >&2; exit 3")
        assert (result.exit_code, result.stdout, result.stderr) == (3, "red\n", "aside\n")
        whole = b"x" * 300_000
        copied = await run(ann, "job/train", "-i", "--", "cat", given=whole)
        assert (copied.exit_code, copied.stdout_bytes) == (0, whole)


async def test_who_may_not_is_refused(tmp_path: pathlib.Path) -> None:
    async with exec_fleet() as served:
        bob = await served.kubeconfig(tmp_path, "bob", "other")
        await sleeping(served.it)
        result = await run(bob, "job/train", "-n", "default", "--", "id")
        assert (result.exit_code, result.stdout) == (2, "")
        assert "cannot get resource" in result.stderr
        assert "workloads/exec" in result.stderr


async def test_a_pod_of_another_workload_is_none_of_this_one(tmp_path: pathlib.Path) -> None:
    async with exec_fleet() as served:
        ann = await served.kubeconfig(tmp_path)
        worker = await sleeping(served.it)
        await sleeping(served.it, "other")
        (own,), (foreign,) = [await running_pods(served.it, worker, 1, name) for name in ("train", "other")]
        result = await run(ann, "job/train", "--pod", foreign, "--", "id")
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"error: Job default/train has no pod {foreign}; its pods: {own} (Running)" in result.stderr


async def test_one_of_several_pods_is_chosen_by_its_index(tmp_path: pathlib.Path) -> None:
    async with exec_fleet() as served:
        ann = await served.kubeconfig(tmp_path)
        worker = await sleeping(served.it, completions=2, parallelism=2, completionMode="Indexed")
        pods = await running_pods(served.it, worker, 2)
        result = await run(ann, "job/train", "--", "id")
        assert result.exit_code == 2
        assert all(pod in result.stderr for pod in pods)
        assert "index 1, Running" in result.stderr
        chosen = await run(ann, "job/train", "--index", "1", "--", "sh", "-c", "echo $JOB_COMPLETION_INDEX")
        assert (chosen.exit_code, chosen.stdout) == (0, "1\n")


async def test_why_nothing_runs_is_told(tmp_path: pathlib.Path) -> None:
    async with exec_fleet() as served:
        ann = await served.kubeconfig(tmp_path)
        await served.it.submit(annotations={"jobrelay.dev/clusters": "nowhere"})
        result = await run(ann, "job/train", "--", "id")
        assert result.exit_code == 2
        assert "error: no worker runs Job default/train yet" in result.stderr
        assert "hint: `jobrelay explain jobs.batch/train -n default` says why" in result.stderr


async def test_a_program_that_is_not_there_is_told(tmp_path: pathlib.Path) -> None:
    async with exec_fleet() as served:
        await sleeping(served.it)
        result = await run(served.it.management.kubeconfig, "job/train", "-t", "--", "no-such-program")
        assert result.exit_code == 2
        assert "note: there is no terminal here" in result.stderr
        assert "executable file not found" in result.stderr


async def test_an_administrator_reaches_the_worker_where_no_api_is_served() -> None:
    async with process_fleet() as it:
        for name, cluster in it.workers.items():
            await register_worker(it.client, name, cluster.kubeconfig.read_bytes(), NAMESPACE)
        home = it.management.kubeconfig
        await it.submit("waiting", annotations={"jobrelay.dev/clusters": "nowhere"})
        waiting = await run(home, "job/waiting", "--", "id")
        assert "error: no worker runs Job default/waiting yet" in waiting.stderr
        worker = await sleeping(it, completions=2, parallelism=2)
        await running_pods(it, worker, 2)
        several = await run(home, "job/train", "--", "id")
        assert "hint: choose one by --pod NAME or --index N" in several.stderr
        (one, _) = await running_pods(it, worker, 2)
        result = await run(home, "job/train", "--pod", one, "-i", "--", "sh", "-c", "cat; exit 4", given=b"hello")
        assert (result.exit_code, result.stdout) == (4, "hello")
