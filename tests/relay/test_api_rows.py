"""Workloads as rows: they follow the originals, are counted by what a caller may see, and come in pages."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.kube import Cache, Client, FakeClock
from jobrelay.kube.objects import Key, decode_object
from jobrelay.kube.resource import JOBS
from jobrelay.relay.api.activity import Activity, Sample
from jobrelay.relay.api.failures import ApiFailure
from jobrelay.relay.api.index import WorkloadIndex, WorkloadRow
from jobrelay.relay.api.paging import PageRequest, choose_page, parse_page_request
from jobrelay.relay.workload_kind import WorkloadKind, WorkloadRef
from jobrelay.relay.workload_status import STATUSES
from jobrelay.workloads import load_adapters
from tests.kube.scripted import ScriptedTransport
from tests.relay.fleets import job

VERSIONS = itertools.count(1)
ALL = frozenset({"jobs.batch", "rayjobs.ray.io"})


def row(name: str, namespace: str = "default", kind: str = "jobs.batch", **more: Any) -> WorkloadRow:
    values = {
        "status": "Waiting", "cluster": "", "run": 0, "created": "", "started": "", "ended": "",
        "text": f"{namespace}/{name} {kind}", **more,
    }  # fmt: skip
    return WorkloadRow(WorkloadRef(kind, Key(namespace, name)), **values)


def kinds() -> dict[str, WorkloadKind]:
    adapter = next(each for each in load_adapters() if each.resource == JOBS)
    return {"jobs.batch": WorkloadKind(adapter, Cache(Client(ScriptedTransport([])), JOBS))}


def put(known: dict[str, WorkloadKind], name: str, created: str = "", status: Any = None, **more: Any) -> None:
    body = job(name, **more)
    body["metadata"] |= {
        "uid": name,
        "resourceVersion": str(next(VERSIONS)),
        "creationTimestamp": created or "2026-01-01T00:00:00Z",
    }
    known["jobs.batch"].originals.put(decode_object(json.dumps(body | {"status": status or {}}).encode()))


async def test_rows_follow_the_originals_that_are_delegated() -> None:
    known, told = kinds(), []
    put(known, "before")
    index = WorkloadIndex(known, lambda old, new: told.append((old and old.status, new and new.status)))
    await index.fill()
    put(known, "after")
    put(known, "after", status={"startTime": "2026-01-01T00:00:01Z"})
    put(known, "not-ours", managed_by=None)
    known["jobs.batch"].originals.discard(Key("default", "before"))
    assert [each.ref.key.name for each in index.rows("", ALL)] == ["after"]
    assert told == [(None, "Waiting"), ("Waiting", "Running"), ("Waiting", None)]


async def test_rows_that_are_not_followed_any_more_stay_as_they_were() -> None:
    known = kinds()
    index = WorkloadIndex(known, lambda old, new: None)
    await index.fill()
    index.close()
    put(known, "late")
    assert list(index.rows("", ALL)) == []


async def test_counts_are_of_one_namespace_and_of_kinds_that_may_be_seen() -> None:
    known = kinds()
    put(known, "old", "2025-01-01T00:00:00Z")
    put(known, "new")
    put(known, "elsewhere", namespace="other")
    index = WorkloadIndex(known, lambda old, new: None)
    await index.fill()
    count = index.count("default", ALL)
    assert (count.statuses, count.oldest and count.oldest.ref.key.name) == ({"Waiting": 2}, "old")
    assert index.count("", ALL).statuses == {"Waiting": 3}
    assert index.count("", frozenset()).statuses == {}


def test_a_history_shows_only_what_a_caller_may_see() -> None:
    activity = Activity(lambda: None, FakeClock())
    counts = {("default", "jobs.batch"): (1, 2, 3, 4), ("default", "rayjobs.ray.io"): (10, 0, 0, 0),
              ("other", "jobs.batch"): (100, 0, 0, 0)}  # fmt: skip
    activity._samples.append(Sample("2026-01-01T00:00:00Z", counts))
    assert [each["waiting"] for each in activity.history("default", frozenset({"jobs.batch"}))] == [1]
    assert [each["waiting"] for each in activity.history("", ALL)] == [111]
    assert activity.history("nowhere", ALL)[0] == {
        "time": "2026-01-01T00:00:00Z", "waiting": 0, "running": 0, "complete": 0, "failed": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (PageRequest(search="TRAIN default"), ["train-1", "train-2"]),
        (PageRequest(status="Running"), ["train-2"]),
        (PageRequest(worker="w1"), ["train-2"]),
        (PageRequest(kind="rayjob"), ["ray"]),
        (PageRequest(sort="-name"), ["train-2", "train-1", "ray"]),
        (PageRequest(size=2, page=2), ["train-2"]),
        (PageRequest(page=9), []),
    ],
)
def test_a_page_has_what_was_asked_for(asked: PageRequest, names: list[str]) -> None:
    rows = [row("train-2", status="Running", cluster="w1", text="default/train-2 job"),
            row("train-1", text="default/train-1 job"), row("ray", "other", "rayjobs.ray.io")]  # fmt: skip
    asked = asked if asked.sort != "-created" else PageRequest(**{**_fields(asked), "sort": "name"})
    assert [each.ref.key.name for each in choose_page(rows, asked).rows] == names


def _fields(asked: PageRequest) -> dict[str, Any]:
    return {name: getattr(asked, name) for name in asked.__struct_fields__}


def test_statuses_are_counted_before_one_is_chosen() -> None:
    rows = [row("a"), row("b"), row("c", status="Failed")]
    page = choose_page(rows, PageRequest(status="Failed"))
    assert (page.chosen, page.statuses) == (1, {"Waiting": 2, "Failed": 1})


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 99), st.sampled_from(STATUSES)), max_size=40))
def test_pages_together_are_all_rows_once(values: list[tuple[str, int, str]]) -> None:
    rows = list({(space, str(name)): row(str(name), space, status=word) for space, name, word in values}.values())
    pages = [choose_page(rows, PageRequest(page=number, size=7, sort="status")).rows for number in range(1, 8)]
    found = [each for page in pages for each in page]
    assert sorted(each.ref for each in found) == sorted(each.ref for each in rows)
    assert [each.status for each in found] == sorted(each.status for each in rows)


@pytest.mark.parametrize(
    "query", [{"page": "0"}, {"page": "x"}, {"page": "1", "pageSize": "501"}, {"page": "1", "status": "odd"},
              {"page": "1", "sort": "uid"}, {"page": "٣"}],
)  # fmt: skip
def test_a_page_that_means_nothing_is_refused(query: dict[str, str]) -> None:
    with pytest.raises(ApiFailure) as failure:
        parse_page_request(query)
    assert failure.value.code == 400


def test_without_a_page_all_workloads_are_meant() -> None:
    assert parse_page_request({"limit": "500", "status": "odd"}) is None
    assert parse_page_request({"page": "1", "status": "failed"}) == PageRequest(status="Failed")
