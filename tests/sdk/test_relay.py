"""A relay as a Python object, asynchronous and synchronous: the same core, on a fleet in this process."""

from __future__ import annotations

import asyncio
import pathlib
import threading
from typing import Any

import pytest

from jobrelay.cluster.node import NodeSettings
from jobrelay.kube import KubeError
from jobrelay.kube.resource import JOBS
from jobrelay.sdk import AsyncRelay, LogOptions, Relay, RelayError, WaitTimeout
from jobrelay.sdk.progress import WorkloadProgress
from jobrelay.workloads import JobAdapter
from tests.cli.fleets import answering_fleet
from tests.relay.fleets import Fleet, MakeFleet, job


def relay_of(it: Fleet) -> AsyncRelay:
    return AsyncRelay(it.client)


async def test_a_job_is_submitted_waited_for_and_run_again(fleet: MakeFleet) -> None:
    async with fleet() as it:
        relay = relay_of(it)
        made = await relay.submit(job(managed_by=None))
        assert (str(made), (await relay.wait(made, 20)).succeeded) == ("job/train", True)
        second = await relay.rerun(made)
        assert second.name.startswith("train-")
        assert (await relay.wait(second, 20)).succeeded


async def test_a_failed_job_says_why(fleet: MakeFleet) -> None:
    async with fleet() as it:
        body = job(backoffLimit=0)
        body["spec"]["template"]["metadata"]["annotations"]["jobrelay.dev/exit-code"] = "3"
        result = await relay_of(it).wait(await relay_of(it).submit(body), 20)
        assert (result.succeeded, result.reason) == (False, "BackoffLimitExceeded")


async def test_what_takes_too_long_is_a_timeout_and_goes_on(fleet: MakeFleet) -> None:
    async with fleet() as it:
        made = await relay_of(it).submit(job(seconds=1000))
        with pytest.raises(WaitTimeout, match=r"Job default/train has not ended within 0.1 s"):
            await relay_of(it).wait(made, 0.1)
        assert (await it.job())["metadata"]["name"] == "train"


async def test_cancelling_deletes_what_has_not_ended(fleet: MakeFleet) -> None:
    async with fleet() as it:
        relay = relay_of(it)
        made = await relay.submit(job(seconds=1000))
        worker = await it.runs()
        assert await relay.cancel(made)
        await it.until(lambda: _gone(it, worker))
        done = await relay.submit(job("short"))
        await relay.wait(done, 20)
        assert not await relay.cancel(done)
        assert (await it.job("short"))["metadata"]["name"] == "short"


async def _gone(it: Fleet, worker: str) -> bool:
    return not (await it.on(worker).list(JOBS, "default")).items


async def test_a_job_that_is_deleted_meanwhile_ends_the_wait_with_an_error(fleet: MakeFleet) -> None:
    async with fleet(start=False) as it:
        relay = relay_of(it)
        made = await relay.submit(job())
        waiting = asyncio.create_task(relay.wait(made))
        await asyncio.sleep(0)
        await it.client.delete(JOBS, "train", "default", propagation="Background")
        with pytest.raises(RelayError, match=r"was deleted|does not exist"):
            await waiting


async def test_one_name_cannot_be_submitted_twice_and_a_running_one_not_run_again(fleet: MakeFleet) -> None:
    async with fleet(start=False) as it:
        relay = relay_of(it)
        await relay.submit(job())
        with pytest.raises(RelayError, match="Job default/train exists already") as caught:
            await relay.submit(job())
        assert "`jobrelay rerun job/train -n default`" in caught.value.hint
        with pytest.raises(RelayError, match="has not ended yet"):
            await relay.rerun("job/train")


async def test_what_is_not_delegated_is_left_alone(fleet: MakeFleet) -> None:
    async with fleet(start=False) as it:
        await it.submit(managed_by=None)
        with pytest.raises(RelayError, match="is not delegated to the relay"):
            await relay_of(it).cancel("train")


async def test_nothing_of_a_folder_is_created_if_one_object_cannot_be(fleet: MakeFleet, tmp_path: pathlib.Path) -> None:
    job_text = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: {}}}\n"
    (tmp_path / "a.yaml").write_text(job_text)
    (tmp_path / "b.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n")
    async with fleet(start=False) as it:
        with pytest.raises(RelayError, match=r"b.yaml: ConfigMap of v1 is not a kind"):
            await relay_of(it).submit_file(tmp_path)
        assert not (await it.client.list(JOBS, "default")).items


async def test_the_reason_of_waiting_is_told_once_and_then_where_it_goes(fleet: MakeFleet) -> None:
    told: list[str] = []

    async def why() -> str:
        return "Waits for room."

    async with fleet(start=False) as it, WorkloadProgress(JobAdapter(), "job/train", why, told.append, 0) as progress:
        made = await it.submit()
        for _ in range(2):
            progress.update(made)
            await asyncio.sleep(0.01)
        for epoch, worker in enumerate(("a", "b"), 1):
            text = f'{{"cluster":"{worker}","epoch":{epoch}}}'
            progress.update(await it.submit(f"train-{worker}", annotations={"jobrelay.dev/assignment": text}))
    assert told == ["job/train: Waits for room.", "job/train is placed on a (run 1)", "job/train moves to b (run 2)"]


def use(kubeconfig: pathlib.Path) -> dict[str, Any]:
    """A program that is not asynchronous."""
    with Relay(kubeconfig, namespace="default") as relay:
        body = job()
        body["spec"]["template"]["metadata"]["annotations"]["jobrelay.dev/log"] = "hello\nbye\n"
        made = relay.submit(body)
        ended = relay.wait(made, 20)
        lines = [line.text for line in relay.logs(made)]
        followed = [line.text for line in relay.logs(made, LogOptions(follow=True))]
        assert lines == followed
        return {"ended": ended.succeeded, "lines": lines, "stage": relay.explain(made)["stage"]}


async def test_a_program_that_is_not_asynchronous_does_the_same(embedded_fleet: MakeFleet) -> None:
    async with answering_fleet(embedded_fleet, registered=True, nodes=NodeSettings(runtime="scripted")) as it:
        found = await asyncio.to_thread(use, it.management.kubeconfig)
        assert (found["ended"], found["stage"]) == (True, "Finished")
        assert found["lines"] == ["hello", "bye"]


def test_an_unusable_kubeconfig_leaves_no_thread(tmp_path: pathlib.Path) -> None:
    before = threading.active_count()
    with pytest.raises(KubeError):
        Relay(tmp_path / "none")
    assert threading.active_count() == before
