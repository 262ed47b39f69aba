"""Every node of a rich object changed in a few ways, one request each: a wide net for decoding, defaults and
validation."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from ..model import MERGE, Scenario, Step, get, patch, post, put, scenario
from ._objects import JOBS, Object
from ._rich import LIGHT_JOB, RICH

Path = tuple[str | int, ...]
CHUNK = 120


def nodes(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """All inner nodes with their paths, in document order."""
    if path:
        yield path, value
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from nodes(child, (*path, key))


def replacements(value: Any) -> tuple[Any, ...]:
    """What to put in a node's place: nothing, the wrong type, and values at the edge of its own type."""
    if isinstance(value, bool):
        return (None, "true", not value)
    if isinstance(value, int | float):
        return (None, str(value), -1, 0, 1.5)
    if value is None:
        return ("text", 5, {})
    if isinstance(value, str):
        return (None, 5, "", "Bad Value!")
    if isinstance(value, list):
        return (None, {}, [], [*value, *value])
    return (None, [], {}, {**value, "zzz": 1})


def changed(body: Object, path: Path, value: Any) -> Object:
    copied = copy.deepcopy(body)
    inner: Any = copied
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return copied


def mutants(body: Object) -> Iterator[Object]:
    for path, value in nodes(body):
        if path[0] not in ("apiVersion", "kind"):
            yield from (changed(body, path, other) for other in replacements(value))


def _thinned(bodies: list[Object], most: int) -> list[Object]:
    """At most so many, evenly taken."""
    step = max(1, -(-len(bodies) // most))
    return bodies[::step]


def _creates(kind: str, collection: str, body: Object) -> Iterator[Scenario]:
    bodies = _thinned(list(mutants(body)), 360)
    for start in range(0, len(bodies), CHUNK):
        steps = [post(f"{collection}?dryRun=All", one) for one in bodies[start : start + CHUNK]]
        yield scenario(f"mutations-create-{kind}-{start // CHUNK + 1}", steps)


def _updates(kind: str, collection: str, body: Object) -> Scenario:
    path = f"{collection}/rich?dryRun=All"
    puts = [put(path, one) for one in _thinned(list(mutants(body)), 70)]
    merges: list[Step] = []
    for where, value in nodes(body):
        if where[0] in ("apiVersion", "kind") or any(isinstance(key, int) for key in where):
            continue
        for other in replacements(value)[:2]:
            nested: Any = other
            for key in reversed(where):
                nested = {key: nested}
            merges.append(patch(path, nested, MERGE))
    thin = merges[:: max(1, -(-len(merges) // 50))]
    return scenario(f"mutations-update-{kind}", [post(collection, body), *puts, *thin, get(f"{collection}/rich")])


def scenarios() -> Iterator[Scenario]:
    for kind, (collection, body) in RICH.items():
        yield from _creates(kind, collection, body)
        yield _updates(kind, collection, body)
    yield from _creates("lightjob", JOBS, LIGHT_JOB)
    yield _updates("lightjob", JOBS, LIGHT_JOB)
