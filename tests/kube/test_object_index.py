from __future__ import annotations

import pytest

from jobrelay.kube import Key, Object
from jobrelay.kube.object_index import ObjectIndex, is_newer
from jobrelay.kube.objects import decode_object, encode

from .scripted import configmap


def make(name: str = "a", version: str = "1", uid: str = "", **data: str) -> Object:
    return decode_object(encode(configmap(name, version, uid=uid, **data)))


class Recorder:
    """Notes changes as readable strings."""

    def __init__(self, store: ObjectIndex) -> None:
        self.seen: list[str] = []
        self.stop = store.subscribe(self)

    def __call__(self, old: Object | None, new: Object | None) -> None:
        before = f"{old.name}@{old.resource_version}" if old else ""
        after = f"{new.name}@{new.resource_version}" if new else ""
        self.seen.append(f"{before}>{after}")


def test_changes_are_told_as_pairs() -> None:
    store = ObjectIndex()
    recorder = Recorder(store)
    store.put(make("a", "1"))
    store.put(make("a", "2"))
    store.discard(Key("default", "a"))
    assert recorder.seen == [">a@1", "a@1>a@2", "a@2>"]


def test_the_same_version_again_is_not_a_change() -> None:
    store = ObjectIndex()
    recorder = Recorder(store)
    store.put(make("a", "2"))
    store.put(make("a", "2"))
    store.put(make("a", "1"))
    assert recorder.seen == [">a@2"]


def test_another_uid_is_a_deletion_and_an_addition() -> None:
    store = ObjectIndex()
    recorder = Recorder(store)
    store.put(make("a", "1", uid="one"))
    store.put(make("a", "5", uid="two"))
    assert recorder.seen == [">a@1", "a@1>", ">a@5"]


def test_replace_tells_only_differences() -> None:
    store = ObjectIndex()
    for name in ("gone", "same", "new"):
        store.put(make(name, "1"))
    recorder = Recorder(store)
    recorder.seen.clear()
    store.replace([make("same", "1"), make("new", "2"), make("added", "3")])
    assert recorder.seen == ["gone@1>", "new@1>new@2", ">added@3"]


def test_a_late_subscriber_hears_what_is_there() -> None:
    store = ObjectIndex()
    store.put(make("a"))
    assert Recorder(store).seen == [">a@1"]


def test_unsubscribing_ends_the_news() -> None:
    store = ObjectIndex()
    recorder = Recorder(store)
    recorder.stop()
    store.put(make("a"))
    assert recorder.seen == []


def test_indexes_follow_changes() -> None:
    store = ObjectIndex()
    store.put(make("a", "1", colour="red"))
    store.add_index("colour", lambda obj: obj.decode()["data"].values())
    store.put(make("b", "2", colour="red"))
    assert [obj.name for obj in store.by_index("colour", "red")] == ["a", "b"]
    store.put(make("a", "3", colour="blue"))
    assert [obj.name for obj in store.by_index("colour", "red")] == ["b"]
    store.discard(Key("default", "b"))
    assert store.by_index("colour", "red") == ()


def test_an_index_name_is_taken_once() -> None:
    store = ObjectIndex()
    store.add_index("x", lambda obj: ())
    with pytest.raises(ValueError, match="already"):
        store.add_index("x", lambda obj: ())


def test_reading() -> None:
    store = ObjectIndex()
    store.put(make("a"))
    assert len(store) == 1
    assert Key("default", "a") in store
    assert store.get(Key("default", "b")) is None
    assert [obj.name for obj in store] == ["a"]


@pytest.mark.parametrize(
    ("version", "than", "newer"), [("10", "9", True), ("9", "10", False), ("9", "9", False), ("x", "9", True)]
)
def test_versions_compare_as_numbers(version: str, than: str, newer: bool) -> None:
    assert is_newer(version, than) is newer
