"""Mutations sent as server-side apply and strategic merge patches, over an object that others own parts of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..model import STRATEGIC, Scenario, Step, apply, get, patch, post, scenario
from ._objects import Object
from ._rich import RICH
from .mutations import changed, nodes, replacements

KINDS = ("job", "pod", "deployment", "cronjob", "service", "configmap", "role", "lease", "networkpolicy", "statefulset")


def _nested(where: tuple[str | int, ...], value: Any) -> Any:
    for key in reversed(where):
        value = {key: value}
    return value


def _thin(steps: list[Step], most: int) -> list[Step]:
    return steps[:: max(1, -(-len(steps) // most))]


def _applies(collection: str, body: Object) -> Iterator[Step]:
    path = f"{collection}/rich"
    dry = f"{path}?dryRun=All"
    head = {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": {"name": "rich"}}
    yield apply(path, body, "first")
    yield apply(path, body, "second")
    places = [(where, value) for where, value in nodes(body) if where[0] not in ("apiVersion", "kind")]
    whole = [
        apply(dry, changed(body, where, other), "first", unordered=True)
        for where, value in places
        for other in replacements(value)
    ]
    yield from _thin(whole, 36)
    parts = [
        apply(
            dry,
            {**head, **_nested(where, other)} if where[0] != "metadata" else _nested(where, other),
            "other",
            force,
            unordered=True,
        )
        for where, value in places
        if where[0] != "metadata" and not any(isinstance(key, int) for key in where)
        for other in (value, *replacements(value)[2:])
        for force in (None, True)
    ]
    yield from _thin(parts, 30)
    yield apply(path, head, "first")
    yield get(path)
    yield apply(path, {**head, "metadata": {"name": "rich", "labels": {"x": "y"}}}, "second", True)
    yield get(path)


def _strategic(collection: str, body: Object) -> Iterator[Step]:
    dry = f"{collection}/rich?dryRun=All"
    yield post(collection, body)
    found = []
    for where, value in nodes(body):
        if where[0] in ("apiVersion", "kind") or any(isinstance(key, int) for key in where):
            continue
        options = list(replacements(value))
        if isinstance(value, list) and value and isinstance(value[0], dict):
            first = {k: v for k, v in value[0].items() if isinstance(v, str | int)}
            options += [[first], [{**first, "$patch": "delete"}], [{"$patch": "replace"}, value[0]], [{}]]
        if isinstance(value, dict):
            options += [{"$patch": "delete"}, {"$patch": "replace", **value}, {"$retainKeys": sorted(value)[:1]}]
        found += [patch(dry, _nested(where, option), STRATEGIC) for option in options]
    yield from _thin(found, 50)


def scenarios() -> Iterator[Scenario]:
    for kind in KINDS:
        collection, body = RICH[kind]
        yield scenario(f"mutations-apply-{kind}", _applies(collection, body))
        yield scenario(f"mutations-strategic-{kind}", _strategic(collection, body))
