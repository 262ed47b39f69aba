"""Jobs as tasks of this host and of Slurm, on whole clusters. Slurm is a stand-in where it is not installed."""

from __future__ import annotations

import asyncio
import dataclasses
import pathlib
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from jobrelay.kit.tasks import LocalTasks, SlurmCommands, SlurmTasks, TaskController, TaskRunner
from jobrelay.kube import Client, NotFound, merge_patch
from jobrelay.kube.resource import EVENTS_CORE, JOBS
from tests.relay.fleets import AnyCluster

from .jobs import MANAGER, Obj, job

ROOT = pathlib.Path(__file__).resolve().parents[2]
POLL = 0.05
PATIENCE = 60.0


def standin(folder: pathlib.Path) -> SlurmCommands:
    """The commands of the stand-in, whose queue is in this folder."""
    folder.mkdir()
    call = ("env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "tests.kit.slurm_standin", str(folder))
    return SlurmCommands(*((*call, name) for name in ("sbatch", "squeue", "sacct", "scancel")))


@pytest.fixture(
    params=[
        "local",
        "stand-in",
        pytest.param("slurm", marks=pytest.mark.skipif(not shutil.which("sbatch"), reason="Slurm is not installed")),
    ]
)
def make_runner(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Callable[[], TaskRunner]:
    """Makes a runner, each time as a controller that was started again would."""
    if request.param == "local":
        return lambda: LocalTasks(tmp_path / "tasks")
    commands = SlurmCommands() if request.param == "slurm" else standin(tmp_path / "slurm")
    return lambda: SlurmTasks(commands)


class Scene:
    """A cluster with a controller of tasks."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def create(self, script: str, **spec: Any) -> None:
        container = {"name": "main", "image": "busybox", "command": ["/bin/sh", "-c", script]}
        pod = {"restartPolicy": "Never", "containers": [container], "terminationGracePeriodSeconds": 1}
        await self.client.create(JOBS, job(template={"spec": pod}, **spec))

    async def get(self) -> Obj:
        return (await self.client.get(JOBS, "j", "default")).decode()

    async def status(self, wanted: Callable[[Obj], object]) -> Obj:
        """The status once it is as wanted."""

        async def look() -> Obj | None:
            status: Obj = (await self.get()).get("status", {})
            return status if wanted(status) else None

        return await until(look)

    async def ended(self) -> tuple[str, Obj]:
        """The type of the terminal condition with its reason, and the status."""
        status = await self.status(lambda status: terminal(status))
        return terminal(status), status

    async def change(self, **spec: Any) -> None:
        await self.client.patch(JOBS, "j", merge_patch({"spec": spec}), "default")


def terminal(status: Obj) -> str:
    ends = [one for one in status.get("conditions", ()) if one["type"] in ("Complete", "Failed")]
    return f"{ends[0]['type']}/{ends[0]['reason']}" if ends else ""


async def until(look: Callable[[], Awaitable[Obj | None]]) -> Obj:
    async with asyncio.timeout(PATIENCE):
        while (found := await look()) is None:
            await asyncio.sleep(POLL)
    return found


@asynccontextmanager
async def controlled(cluster: AnyCluster, runner: TaskRunner) -> AsyncIterator[Scene]:
    controller = asyncio.create_task(TaskController(cluster.client(), MANAGER, runner, poll=POLL).run())
    try:
        yield Scene(cluster.client())
    finally:
        controller.cancel()
        await asyncio.wait({controller})


MakeRunner = Callable[[], TaskRunner]


async def test_a_job_runs_its_command_as_often_as_it_asks(
    any_cluster: AnyCluster, make_runner: MakeRunner, tmp_path: pathlib.Path
) -> None:
    async with controlled(any_cluster, make_runner()) as scene:
        await scene.create(f"echo ran >> {tmp_path}/ran", completions=3, parallelism=2)
        end, status = await scene.ended()
        assert (end, status["succeeded"]) == ("Complete/CompletionsReached", 3)
        assert (tmp_path / "ran").read_text() == "ran\n" * 3


async def test_an_indexed_job_gives_each_index_to_one_task(
    any_cluster: AnyCluster, make_runner: MakeRunner, tmp_path: pathlib.Path
) -> None:
    async with controlled(any_cluster, make_runner()) as scene:
        script = f"touch {tmp_path}/index-$JOB_COMPLETION_INDEX"
        await scene.create(script, completionMode="Indexed", completions=3, parallelism=3)
        _, status = await scene.ended()
        assert status["completedIndexes"] == "0-2"
        assert sorted(each.name for each in tmp_path.glob("index-*")) == ["index-0", "index-1", "index-2"]


async def test_failures_beyond_the_limit_fail_the_job(any_cluster: AnyCluster, make_runner: MakeRunner) -> None:
    async with controlled(any_cluster, make_runner()) as scene:
        await scene.create("exit 3", backoffLimit=0)
        end, status = await scene.ended()
        assert (end, status["failed"]) == ("Failed/BackoffLimitExceeded", 1)


async def test_a_failed_index_leaves_the_others(any_cluster: AnyCluster, make_runner: MakeRunner) -> None:
    async with controlled(any_cluster, make_runner()) as scene:
        script = "test $JOB_COMPLETION_INDEX != 1"
        await scene.create(script, completionMode="Indexed", completions=3, parallelism=3, backoffLimitPerIndex=0)
        end, status = await scene.ended()
        assert (end, status["completedIndexes"], status["failedIndexes"]) == ("Failed/FailedIndexes", "0,2", "1")


async def test_a_deadline_stops_tasks_and_fails_the_job(any_cluster: AnyCluster, make_runner: MakeRunner) -> None:
    async with controlled(any_cluster, make_runner()) as scene:
        await scene.create("exec sleep 600", activeDeadlineSeconds=1)
        end, status = await scene.ended()
        assert (end, status.get("failed")) == ("Failed/DeadlineExceeded", None)


async def test_a_suspended_job_is_stopped_and_resumed(
    any_cluster: AnyCluster, make_runner: MakeRunner, tmp_path: pathlib.Path
) -> None:
    async with controlled(any_cluster, make_runner()) as scene:
        await scene.create(f"test -e {tmp_path}/go || exec sleep 600")
        await scene.status(lambda status: status.get("ready"))
        await scene.change(suspend=True)
        status = await scene.status(lambda status: status.get("conditions") and not status.get("terminating"))
        assert [one["reason"] for one in status["conditions"]] == ["JobSuspended"]
        (tmp_path / "go").touch()
        await scene.change(suspend=False)
        assert (await scene.ended())[0] == "Complete/CompletionsReached"


async def test_tasks_are_found_again_after_a_restart(
    any_cluster: AnyCluster, make_runner: MakeRunner, tmp_path: pathlib.Path
) -> None:
    async with controlled(any_cluster, make_runner()) as scene:
        await scene.create(f"echo ran >> {tmp_path}/ran; until test -e {tmp_path}/go; do sleep 0.05; done")
        await scene.status(lambda status: status.get("ready"))
    (tmp_path / "go").touch()  # it ends while no controller runs
    async with controlled(any_cluster, make_runner()) as scene:
        assert (await scene.ended())[0] == "Complete/CompletionsReached"
    assert (tmp_path / "ran").read_text() == "ran\n"


async def test_a_deleted_job_is_stopped_before_it_goes(any_cluster: AnyCluster, make_runner: MakeRunner) -> None:
    async with controlled(any_cluster, make_runner()) as scene:
        await scene.create("exec sleep 600")
        await scene.status(lambda status: status.get("ready"))
        await scene.client.delete(JOBS, "j", "default", propagation="Background")

        async def gone() -> Obj | None:
            try:
                await scene.get()
            except NotFound:
                return {}
            return None

        await until(gone)


async def test_what_tasks_do_not_have_fails_the_job_with_a_reason(
    any_cluster: AnyCluster, make_runner: MakeRunner
) -> None:
    async with controlled(any_cluster, make_runner()) as scene:
        await scene.client.create(JOBS, job())
        end, status = await scene.ended()
        assert end == "Failed/Unsupported"
        assert status["conditions"][0]["message"].startswith("the container needs a command")


async def test_an_error_of_slurm_is_an_event(any_cluster: AnyCluster, tmp_path: pathlib.Path) -> None:
    async with controlled(any_cluster, SlurmTasks(standin(tmp_path / "slurm"))) as scene:
        await scene.create("true", completionMode="Indexed", completions=1002, parallelism=1002)

        async def told() -> Obj | None:
            events = [each.decode() for each in (await scene.client.list(EVENTS_CORE, "default")).items]
            return next((each for each in events if each["reason"] == "FailedTasks"), None)

        assert "Batch job submission failed: Invalid job array specification" in (await until(told))["message"]


@pytest.mark.parametrize("accounting", [True, False])
async def test_tasks_that_left_the_queue_of_slurm_are_counted(
    any_cluster: AnyCluster, tmp_path: pathlib.Path, accounting: bool
) -> None:
    """By accounting, or by what was seen of them before."""
    commands = standin(tmp_path / "slurm")
    (tmp_path / "slurm" / ("purge" if accounting else "no-accounting")).touch()
    async with controlled(any_cluster, SlurmTasks(commands)) as scene:
        await scene.create("true", completions=2, parallelism=1)
        end, status = await scene.ended()
        assert (end, status["succeeded"]) == ("Complete/CompletionsReached", 2)


async def test_a_submission_whose_answer_is_lost_is_not_repeated(
    any_cluster: AnyCluster, tmp_path: pathlib.Path
) -> None:
    commands = standin(tmp_path / "slurm")
    lossy = ("sh", "-c", '"$@"; exit 1', "sh", *commands.submit)
    async with controlled(any_cluster, SlurmTasks(dataclasses.replace(commands, submit=lossy))) as scene:
        await scene.create(f"echo ran >> {tmp_path}/ran")
        assert (await scene.ended())[0] == "Complete/CompletionsReached"
        assert (tmp_path / "ran").read_text() == "ran\n"


async def test_a_process_that_ignores_the_request_to_stop_is_killed(
    any_cluster: AnyCluster, tmp_path: pathlib.Path
) -> None:
    async with controlled(any_cluster, LocalTasks(tmp_path)) as scene:
        await scene.create("trap '' TERM; while true; do sleep 0.05; done", activeDeadlineSeconds=1)
        assert (await scene.ended())[0] == "Failed/DeadlineExceeded"


async def test_a_process_that_ends_without_an_exit_code_has_failed(
    any_cluster: AnyCluster, tmp_path: pathlib.Path
) -> None:
    async with controlled(any_cluster, LocalTasks(tmp_path)) as scene:
        await scene.create("kill -9 $PPID", backoffLimit=0)
        end, status = await scene.ended()
        assert (end, status["failed"]) == ("Failed/BackoffLimitExceeded", 1)


async def test_a_process_has_the_variables_of_its_container_and_no_secrets_of_the_controller(
    any_cluster: AnyCluster, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_CONTROLLER", "x")
    async with controlled(any_cluster, LocalTasks(tmp_path / "tasks")) as scene:
        script = f"echo $GREETING,$SECRET_OF_THE_CONTROLLER,$PWD > {tmp_path}/found"
        container = {
            "name": "main", "image": "busybox", "command": ["/bin/sh", "-c"], "args": [script],
            "env": [{"name": "GREETING", "value": "hello"}], "workingDir": str(tmp_path),
        }  # fmt: skip
        await scene.client.create(JOBS, job(template={"spec": {"restartPolicy": "Never", "containers": [container]}}))
        await scene.ended()
        assert (tmp_path / "found").read_text() == f"hello,,{tmp_path}\n"
