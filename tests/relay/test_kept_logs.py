"""Kept logs: what is taken, how it is held within bounds, and that no removal waits for it longer than it may."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.kube import Client, ConnectError, FakeClock, KubeError, Object
from jobrelay.kube.objects import decode_object
from jobrelay.kube.resource import CONFIGMAPS, JOBS
from jobrelay.relay.kept_logs.collecting import last_bytes
from jobrelay.relay.kept_logs.keeper import WITHIN, LogKeeper, LogStore
from jobrelay.relay.kept_logs.kept import (
    AT,
    SIZE,
    ContainerLog,
    KeptLog,
    LogChoice,
    chosen_lines,
    config_map,
    config_map_name,
    original_uid,
    read_config_map,
)
from jobrelay.relay.kept_logs.reading import kept_notice, read_kept
from jobrelay.relay.kept_logs.sweep import due
from jobrelay.relay.snapshot import WorkloadSnapshot

from .api import talking
from .fleets import NAMESPACE, Fleet, MakeFleet
from .snapshots import NOW, ago, complete, job, mirror, running, snapshot, worker

TEXT = "2026-01-01T11:00:00Z old\n2026-01-01T11:59:30Z new\n"
KEPT = KeptLog("west", 2, "2026-01-01T12:00:00Z", (ContainerLog("train-0", "main", TEXT, "0"),))


def held(kept: KeptLog = KEPT) -> Object:
    return decode_object(json.dumps(config_map("ns", "u1", "jobs.batch team/train", kept)).encode())


def test_a_kept_log_is_read_as_it_was_written() -> None:
    assert read_config_map(held()) == KEPT
    assert (original_uid(held()), held().name) == ("u1", config_map_name("u1"))


@pytest.mark.parametrize("contents", [None, {}, {"log.json.zlib": "%%"}, {"log.json.zlib": "YWJj"}, {"other": "YWJj"}])
def test_what_no_relay_has_written_is_no_kept_log(contents: dict[str, str] | None) -> None:
    metadata = {"name": config_map_name("u1"), "namespace": "ns"}
    assert read_config_map(decode_object(json.dumps({"metadata": metadata, "binaryData": contents}).encode())) is None


@pytest.mark.parametrize(
    ("choice", "lines"),
    [
        (LogChoice(), ["old\n", "new\n"]),
        (LogChoice(timestamps=True), TEXT.splitlines(keepends=True)),
        (LogChoice(tail=1), ["new\n"]),
        (LogChoice(tail=0), []),
        (LogChoice(since=ago(60)), ["new\n"]),
        (LogChoice(index="0", container="main", pod="train-0"), ["old\n", "new\n"]),
        (LogChoice(index="1"), []),
        (LogChoice(container="side"), []),
    ],
)
def test_lines_are_chosen_as_from_a_worker(choice: LogChoice, lines: list[str]) -> None:
    assert [line for _, line in chosen_lines(KEPT, choice)] == lines


@given(st.lists(st.binary(max_size=30)), st.integers(1, 60))
async def test_the_last_whole_lines_stay_within_the_bound(chunks: list[bytes], size: int) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    whole = b"".join(chunks)
    found, cut = await last_bytes(pieces(), size)
    assert len(found) <= size
    assert whole.endswith(found)
    assert cut == (len(whole) > size)
    if cut and b"\n" in whole[-size:-1]:
        assert whole[: len(whole) - len(found)].endswith(b"\n")


def test_a_reader_is_told_that_it_is_the_kept_part() -> None:
    assert kept_notice(KEPT) == (
        "the pods of run 2 on west are gone; this is the whole of their logs, kept at 2026-01-01T12:00:00Z"
    )
    cut = KeptLog("west", 2, "", (ContainerLog("train-0", "main", TEXT, cut=True),))
    assert "the last part of their logs" in kept_notice(cut)


def sized(uid: str, size: int, minutes: float) -> Object:
    """A kept log of so many bytes, from some minutes ago."""
    at = (NOW - timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z")
    metadata = {"name": config_map_name(uid), "namespace": "ns", "annotations": {SIZE: str(size), AT: at}}
    return decode_object(json.dumps({"metadata": metadata}).encode())


def test_what_is_old_too_much_or_without_a_workload_is_removed() -> None:
    kept = [sized("a", 40, 3), sized("b", 40, 1), sized("c", 40, 2), sized("old", 1, 600), sized("gone", 1, 0)]
    found = due(kept, NOW, 100, 3600, lambda uid: uid != "gone")
    assert {original_uid(each) for each in found} == {"a", "old", "gone"}


class Hung:
    """Connections to a worker that never answers, or cannot be reached."""

    def __init__(self, error: KubeError | None = None) -> None:
        self.opened, self._error = 0, error

    @asynccontextmanager
    async def reach(self, worker: str) -> AsyncIterator[Client]:
        self.opened += 1
        if self._error is not None:
            raise self._error
        await asyncio.Event().wait()
        yield None  # type: ignore[misc]


def ended(**original: Any) -> WorkloadSnapshot:
    made = job(cluster="a", status=complete(), **original)
    return snapshot(made, [worker("a")], {"a": mirror(status=complete())})


def keeper(worker: Hung, clock: FakeClock) -> LogKeeper:
    store = LogStore(None, "ns", 1024)  # type: ignore[arg-type]
    return LogKeeper(store, "a", worker.reach, clock)


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_worker_that_does_not_answer_holds_a_removal_up_for_a_bounded_time() -> None:
    clock, there, looked = FakeClock(), Hung(), asyncio.Event()
    keeping, found = keeper(there, clock), ended()
    assert not keeping.is_taken(found, found.mirrors["a"], looked.set)
    await settle()
    assert not keeping.is_taken(found, found.mirrors["a"], looked.set)
    await clock.advance(WITHIN + 1)
    await looked.wait()
    assert keeping.is_taken(found, found.mirrors["a"], looked.set)
    assert keeping.is_taken(found, found.mirrors["a"], looked.set)  # and the next ones are not held up at all
    assert there.opened == 1


async def test_a_worker_that_cannot_be_reached_holds_nothing_up() -> None:
    there, looked = Hung(ConnectError("gone")), asyncio.Event()
    keeping, found = keeper(there, FakeClock()), ended()
    assert not keeping.is_taken(found, found.mirrors["a"], looked.set)
    await looked.wait()
    assert keeping.is_taken(found, found.mirrors["a"], looked.set)


async def test_what_is_under_way_ends_with_the_keeper() -> None:
    there = Hung()
    keeping, found = keeper(there, FakeClock()), ended()
    keeping.is_taken(found, found.mirrors["a"], pytest.fail)
    await settle()
    await keeping.close()
    assert there.opened == 1


@pytest.mark.parametrize(
    "found",
    [
        None,
        ended(deleting=True),
        ended(managed_by=None),
        snapshot(job(cluster="b", epoch=2), [worker("a"), worker("b")], {"a": mirror(status={})}),
    ],
)
async def test_no_log_is_taken_that_nobody_can_ask_for(found: WorkloadSnapshot | None) -> None:
    there, own = Hung(), found or ended()
    assert keeper(there, FakeClock()).is_taken(found, own.mirrors["a"], pytest.fail)
    assert there.opened == 0


async def test_a_stale_mirror_beside_a_new_run_is_removed_at_once() -> None:
    beside = {"a": mirror(epoch=1, status=running()), "b": mirror(epoch=2, status=running(), cluster="b")}
    found = snapshot(job(cluster="b", epoch=2), [worker("a", lost=1e6), worker("b")], beside)
    assert keeper(Hung(), FakeClock()).is_taken(found, found.mirrors["a"], pytest.fail)


async def gone(it: Fleet) -> bool:
    return not await it.mirrors()


async def test_the_end_of_a_log_outlives_mirror_and_relay(embedded_fleet: MakeFleet) -> None:
    async with embedded_fleet(1, keep_finished=0.0, keep_logs=4096) as it:
        original = await it.client.create(JOBS, talking())
        await it.finished()
        await it.until(lambda: gone(it), 60)
        kept = await read_kept(it.client, NAMESPACE, original.uid)
        assert kept is not None
        assert ([line for _, line in chosen_lines(kept, LogChoice())], kept.run) == (["hello\n", "bye\n"], 1)
        await it.kill()
        await it.start()
        await it.client.delete(JOBS, "train", "default")

        async def swept() -> bool:
            return not (await it.client.list(CONFIGMAPS, NAMESPACE, label_selector="jobrelay.dev/kept-log")).items

        await it.until(swept, 120)


async def test_nothing_is_kept_where_logs_are_not_wanted(embedded_fleet: MakeFleet) -> None:
    async with embedded_fleet(1, keep_finished=0.0) as it:
        original = await it.client.create(JOBS, talking())
        await it.finished()
        await it.until(lambda: gone(it), 60)
        assert await read_kept(it.client, NAMESPACE, original.uid) is None
