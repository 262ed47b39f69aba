"""The store: one commit per tick, answers after the commit, and nobody sees what could still be lost."""

from __future__ import annotations

import asyncio
import pathlib
from collections.abc import Callable

import pytest

from jobrelay.cluster.store import Backend, Change, SqliteBackend, Store, StoreFailure, VersionTooOld

from .stores import RESOURCE, KeptInMemory, committed, delete, put

Open = Callable[[], Backend]


@pytest.fixture(params=["memory", "sqlite"])
def open_backend(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Open:
    """Opens the same contents again and again."""
    if request.param == "sqlite":
        return lambda: SqliteBackend(tmp_path / "store.sqlite")
    kept = KeptInMemory()
    return lambda: kept


async def test_the_writes_of_one_tick_are_one_commit() -> None:
    backend = KeptInMemory()
    store = Store(backend)
    for name in "abc":
        put(store, name)
    assert backend.batches == []
    await store.settled()
    assert [[row.name for row in batch] for batch in backend.batches] == [["a", "b", "c"]]


async def test_writers_of_different_tasks_share_a_commit() -> None:
    store = Store(KeptInMemory())

    async def write(name: str) -> None:
        put(store, name)
        await store.settled()

    await asyncio.gather(*(write(f"n{number}") for number in range(20)))
    assert store.commits == 1


async def test_an_object_written_twice_in_a_tick_is_committed_in_its_last_state() -> None:
    backend = KeptInMemory()
    store = Store(backend)
    put(store, "a", "first")
    put(store, "a", "second")
    await store.settled()
    assert [row.raw for row in backend.batches[0]] == [b"second@2"]


async def test_readers_do_not_see_an_open_batch() -> None:
    store = Store(KeptInMemory())
    old = put(store, "a")
    await store.settled()
    put(store, "a")
    put(store, "b")
    assert committed(store) == {"a": old}
    assert (store.read(RESOURCE, "default", "b"), store.committed) == (None, old)
    await store.settled()
    assert committed(store) == {"a": old + 1, "b": old + 2}


async def test_writers_see_an_open_batch() -> None:
    store = Store(KeptInMemory())
    version = put(store, "a")
    found = store.get(RESOURCE, "default", "a")
    assert found is not None
    assert found.version == version
    await store.settled()


async def test_a_failed_commit_undoes_its_whole_batch() -> None:
    backend = KeptInMemory()
    store = Store(backend)
    put(store, "kept")
    put(store, "changed", "old")
    await store.settled()
    before = committed(store)
    backend.failures = 1
    put(store, "changed", "new")
    put(store, "changed", "newer")
    put(store, "fresh")
    delete(store, "kept")
    with pytest.raises(StoreFailure, match="disk is full"):
        await store.settled()
    assert (committed(store), store.version) == (before, 2)


async def test_every_writer_of_a_failed_batch_hears_of_it() -> None:
    backend = KeptInMemory()
    store = Store(backend)
    backend.failures = 1

    async def write(name: str) -> None:
        put(store, name)
        await store.settled()

    results = await asyncio.gather(write("a"), write("b"), return_exceptions=True)
    assert [type(result) for result in results] == [StoreFailure, StoreFailure]


async def test_the_store_goes_on_after_a_failure() -> None:
    backend = KeptInMemory()
    store = Store(backend)
    backend.failures = 1
    put(store, "a")
    with pytest.raises(StoreFailure):
        await store.settled()
    put(store, "a")
    await store.settled()
    assert committed(store) == {"a": 1}


async def test_watchers_hear_of_changes_once_they_are_durable() -> None:
    store = Store(KeptInMemory())
    heard: list[Change] = []
    stop = store.subscribe(RESOURCE, heard.append)
    put(store, "a")
    assert heard == []
    await store.settled()
    delete(store, "a")
    await store.settled()
    stop()
    put(store, "b")
    await store.settled()
    assert [(change.version, change.after is None) for change in heard] == [(1, False), (2, True)]


async def test_watchers_never_hear_of_a_failed_batch() -> None:
    backend = KeptInMemory()
    store = Store(backend)
    heard: list[Change] = []
    store.subscribe(RESOURCE, heard.append)
    backend.failures = 1
    put(store, "a")
    with pytest.raises(StoreFailure):
        await store.settled()
    assert (heard, store.since(RESOURCE, 0)) == ([], [])


async def test_a_snapshot_shows_the_past() -> None:
    store = Store(KeptInMemory())
    put(store, "a")
    past = put(store, "b")
    await store.settled()
    delete(store, "a")
    put(store, "b")
    put(store, "c")
    await store.settled()
    assert [(item.name, item.version) for item in store.snapshot(RESOURCE, past).walk("")] == [("a", 1), ("b", 2)]


async def test_a_snapshot_walks_one_namespace_behind_a_key() -> None:
    store = Store(KeptInMemory())
    for namespace, name in (("a", "x"), ("b", "x"), ("b", "y"), ("c", "x")):
        store.put(RESOURCE, namespace, name, b"{}")
    await store.settled()
    snapshot = store.snapshot(RESOURCE, store.committed)
    assert [(item.namespace, item.name) for item in snapshot.walk("b", after=("b", "x"))] == [("b", "y")]


async def test_what_left_the_history_is_expired() -> None:
    store = Store(KeptInMemory(), history=3)
    for _ in range(5):
        put(store, "a")
    await store.settled()
    assert [change.version for change in store.since(RESOURCE, 2)] == [3, 4, 5]
    with pytest.raises(VersionTooOld, match=r"too old resource version: 1 \(2\)"):
        store.since(RESOURCE, 1)
    with pytest.raises(VersionTooOld):
        store.snapshot(RESOURCE, 1)


async def test_history_is_bounded_by_bytes_too() -> None:
    store = Store(KeptInMemory(), history_bytes=100)
    for _ in range(5):
        put(store, "a", "x" * 18)  # 20 bytes each, before and after
    await store.settled()
    assert [change.version for change in store.since(RESOURCE, 3)] == [4, 5]
    with pytest.raises(VersionTooOld):
        store.since(RESOURCE, 2)


async def test_large_objects_of_one_resource_cost_no_other_its_history() -> None:
    store = Store(KeptInMemory(), history_bytes=1000)
    first = put(store, "small", resource="jobs")
    put(store, "small", resource="jobs")
    for _ in range(20):
        put(store, "a", "x" * 200)
    await store.settled()
    assert len(store.since("jobs", first)) == 1
    assert len(store.since(RESOURCE, store.committed - 2)) == 2


async def test_a_change_larger_than_the_whole_history_expires_what_came_before() -> None:
    store = Store(KeptInMemory(), history_bytes=10)
    seen: list[Change] = []
    store.subscribe(RESOURCE, seen.append)
    version = put(store, "a", "x" * 100)
    await store.settled()
    assert (store.since(RESOURCE, version), len(seen), committed(store)) == ([], 1, {"a": version})


async def test_objects_and_versions_survive_a_restart(open_backend: Open) -> None:
    store = Store(open_backend())
    put(store, "a")
    put(store, "b")
    await store.settled()
    delete(store, "b")
    store.close()
    again = Store(open_backend())
    assert (committed(again), again.committed) == ({"a": 1}, 3)
    assert again.next_version() == 4
    again.close()


async def test_history_from_before_a_restart_is_expired(open_backend: Open) -> None:
    store = Store(open_backend())
    put(store, "a")
    last = put(store, "b")
    await store.settled()
    store.close()
    again = Store(open_backend())
    assert again.since(RESOURCE, last) == []
    with pytest.raises(VersionTooOld):
        again.since(RESOURCE, last - 1)
    again.close()


async def test_closing_commits_what_is_open(open_backend: Open) -> None:
    store = Store(open_backend())
    put(store, "a")
    store.close()
    again = Store(open_backend())
    assert committed(again) == {"a": 1}
    again.close()


async def test_reactions_to_the_last_batch_fail_quietly(open_backend: Open) -> None:
    store = Store(open_backend())

    def react(change: Change) -> None:
        put(store, "reaction")

    store.subscribe(RESOURCE, react)
    put(store, "a")
    store.close()
    with pytest.raises(StoreFailure, match="closed"):
        await store.settled()
    again = Store(open_backend())
    assert committed(again) == {"a": 1}
    again.close()


def test_a_file_that_is_no_store_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "store.sqlite").write_text("this is a letter, and a long one, and surely not a database" * 50)
    with pytest.raises(StoreFailure, match="cannot be opened as a jobrelay store"):
        SqliteBackend(tmp_path / "store.sqlite")
