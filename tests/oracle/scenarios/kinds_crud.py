"""The same small life of one object for every built-in kind: create, read in all forms, change in all ways, delete."""

from __future__ import annotations

from collections.abc import Iterator

from ..model import PARTIAL, TABLE, Scenario, Step, apply, delete, get, patch, post, put, scenario
from ._kinds import EVERY, Kind
from ._objects import metadata


def _life(kind: Kind) -> Iterator[Step]:
    path = kind.path
    other = kind.name + "2"
    mine = f"?fieldSelector=metadata.name={kind.name}"
    yield post(kind.collection + "?dryRun=All", kind.body)
    yield post(kind.collection, kind.body)
    yield get(path)
    yield post(kind.collection, kind.body)
    yield get(path, TABLE)
    yield get(kind.collection + mine, TABLE)
    yield get(path, PARTIAL)
    yield get(kind.collection + mine)
    yield patch(path, kind.change)
    yield patch(
        path, [{"op": "add", "path": "/metadata/annotations", "value": {"n": "1"}}], "application/json-patch+json"
    )
    yield patch(path, {"metadata": {"labels": {"s": "t"}}}, "application/strategic-merge-patch+json")
    yield apply(
        path,
        {
            "apiVersion": kind.body["apiVersion"],
            "kind": kind.body["kind"],
            "metadata": {"name": kind.name, "labels": {"by": "apply"}},
        },
    )
    yield put(path, kind.body)
    yield put(path, metadata(kind.body, name=other))
    yield put(f"{kind.collection}/{other}", metadata(kind.body, name=other))
    yield get(f"{kind.collection}/missing")
    yield delete(path + "?dryRun=All", {"propagationPolicy": "Background"})
    yield delete(path, {"propagationPolicy": "Background"})
    yield delete(f"{kind.collection}/missing")


def _applied(kind: Kind) -> Iterator[Step]:
    yield apply(kind.path, kind.body)
    yield apply(kind.path, kind.body)
    yield apply(kind.path, kind.body, "second")


def _dry(kind: Kind) -> Iterator[Step]:
    yield post(kind.collection + "?dryRun=All", kind.body)
    yield post(kind.collection + "?dryRun=All", {**kind.body, "spec": {}})
    yield apply(kind.path + "?dryRun=All", kind.body)
    yield get(kind.path)
    yield get(kind.collection, TABLE)
    yield delete(kind.path)


def scenarios() -> Iterator[Scenario]:
    for kind in EVERY:
        group = str(kind.body["apiVersion"]).rpartition("/")[0].split(".")[0] or "core"
        cleanup = [kind.path, kind.path + "2"] if kind.cluster else []
        if kind.controlled:
            yield scenario(f"crud-{group}-{kind.plural}", _dry(kind))
            continue
        yield scenario(f"crud-{group}-{kind.plural}", _life(kind), cleanup)
        yield scenario(f"crud-apply-{group}-{kind.plural}", _applied(kind), cleanup)
