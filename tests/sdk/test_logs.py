"""Logs of a workload wherever it runs: chosen lines, waiting for a worker, and the way to the next one."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from jobrelay.kube import merge_patch
from jobrelay.kube.resource import JOBS
from jobrelay.relay.model import State
from jobrelay.sdk import AsyncRelay, LogOptions, RelayError
from tests.cli.fleets import answering_fleet
from tests.relay.fleets import Fleet, MakeFleet, job

FOLLOW = LogOptions(follow=True)


def loud(annotations: Mapping[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """A Job whose pods say hello."""
    body = job(annotations=annotations, **more)
    body["spec"]["template"]["metadata"]["annotations"]["jobrelay.dev/log"] = "hello\n"
    return body


class Reader:
    """Reads the logs of a workload in the background."""

    def __init__(self, it: Fleet, options: LogOptions = FOLLOW) -> None:
        self.notes: list[str] = []
        self.lines: list[tuple[str, str]] = []
        self._relay, self._options = AsyncRelay(it.client), options
        self.task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for line in self._relay.logs("job/train", self._options, note=self.notes.append):
            self.lines.append((line.worker, line.text))

    async def has_lines(self, number: int = 1) -> bool:
        return len(self.lines) >= number

    async def has_notes(self) -> bool:
        return bool(self.notes)


async def test_following_waits_for_a_worker_and_says_why(embedded_fleet: MakeFleet) -> None:
    async with answering_fleet(embedded_fleet, registered=True) as it:
        await it.client.create(JOBS, loud({"jobrelay.dev/clusters": "nowhere"}))
        reader = Reader(it)
        await it.until(reader.has_notes)
        assert reader.notes[0].startswith("job/train: Waits for a worker that can take it. ")
        here = merge_patch({"metadata": {"annotations": {"jobrelay.dev/clusters": "worker-2"}}})
        await it.client.patch(JOBS, "train", here, "default")
        await asyncio.wait_for(reader.task, 20)
        assert reader.lines == [("worker-2", "hello")]
        assert reader.notes[1:] == ["job/train is placed on worker-2 (run 1)"]


async def test_following_goes_with_the_workload_to_another_worker(embedded_fleet: MakeFleet) -> None:
    async with answering_fleet(embedded_fleet, registered=True) as it:
        await it.client.create(JOBS, loud(seconds=1000))
        first = await it.runs()
        reader = Reader(it)
        await it.until(reader.has_lines)
        specs = it.source.specs
        it.source.change(specs | {first: dataclasses.replace(specs[first], state=State.DRAINING)})
        await it.until(lambda: reader.has_lines(2))
        second = next(name for name in it.workers if name != first)
        assert reader.lines == [(first, "hello"), (second, "hello")]
        assert reader.notes == [f"job/train is placed on {first} (run 1)", f"job/train moves to {second} (run 2)"]
        reader.task.cancel()
        await asyncio.wait({reader.task})


@pytest.mark.parametrize(("index", "number"), [(None, 3), (1, 1)])
async def test_one_index_of_an_indexed_job_can_be_chosen(
    embedded_fleet: MakeFleet, index: int | None, number: int
) -> None:
    async with answering_fleet(embedded_fleet, registered=True) as it:
        await it.client.create(JOBS, loud(completions=3, parallelism=3, completionMode="Indexed"))
        await it.finished()
        reader = Reader(it, LogOptions(index=index))
        await asyncio.wait_for(reader.task, 20)
        assert len(reader.lines) == number


async def test_without_following_a_workload_that_has_no_worker_is_an_error(embedded_fleet: MakeFleet) -> None:
    async with embedded_fleet(start=False) as it:
        await it.submit()
        with pytest.raises(RelayError, match="no worker runs Job default/train yet") as caught:
            _ = [line async for line in AsyncRelay(it.client).logs("train", within=0)]
        assert caught.value.hint == "`jobrelay explain job/train -n default` says why"


async def test_following_ends_with_an_error_when_the_workload_is_deleted(embedded_fleet: MakeFleet) -> None:
    async with answering_fleet(embedded_fleet, registered=True) as it:
        await it.client.create(JOBS, loud(seconds=1000))
        reader = Reader(it)
        await it.until(reader.has_lines)
        await it.client.delete(JOBS, "train", "default", propagation="Background")
        with pytest.raises(RelayError, match="Job default/train was deleted"):
            await asyncio.wait_for(reader.task, 20)
