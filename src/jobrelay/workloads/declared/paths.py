"""Paths of fields, as descriptions of kinds write them.

    spec.runPolicy.managedBy                        a field
    status.replicaStatuses.*.active                 of every entry of a map or list
    spec.runtimePatches[manager=example.com/me]     the entries of a list whose field has this value
    metadata.annotations[example.com/key]           a key that contains dots

What a path does not find, or what has another type than it expects, counts as absent: objects of custom resources may
have any shape.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

from jobrelay.kube import Object, ProtocolError
from jobrelay.workloads.references import FieldPath


class Every(NamedTuple):
    """Every entry of a map or list."""


class Matching(NamedTuple):
    """The entries of a list whose field `key` is `value`."""

    key: str
    value: str


Step: TypeAlias = str | Every | Matching
Path: TypeAlias = tuple[Step, ...]

_STEP: Final = re.compile(r"(?:^|\.)([A-Za-z0-9_-]+|\*)|\[([A-Za-z0-9_]+)=([^\]]+)\]|\[([^\]=]+)\]")


@cache
def parse(text: str) -> Path:
    """Read a path. Raises ValueError with what is wrong."""
    steps: list[Step] = []
    at = 0
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None or found.end() == at:
            break
        name, key, value, bracketed = found.groups()
        steps.append(Every() if name == "*" else Matching(key, value) if key else name or bracketed)
        at = found.end()
    if at < len(text) or not steps:
        raise ValueError(f"{text!r} is not a path of a field, such as spec.suspend or status.jobs.*.active")
    return tuple(steps)


def decoded(obj: Object) -> dict[str, Any]:
    """A whole object; empty if it is nested too deeply to be decoded, which some schemas allow anybody."""
    try:
        return obj.decode()
    except ProtocolError:
        return {}


def located(path: Path, obj: Any) -> list[tuple[FieldPath, Any]]:
    """The values at a path, each with its exact place; absent ones and nulls are left out."""
    found: list[tuple[FieldPath, Any]] = [((), obj)] if obj is not None else []
    for step in path:
        below = [(place, entry) for place, holder in found for entry in _entries(step, holder)]
        found = [((*place, key), value) for place, (key, value) in below if value is not None]
    return found


def _entries(step: Step, obj: Any) -> Iterable[tuple[str | int, Any]]:
    if isinstance(step, str):
        return ((step, obj[step]),) if isinstance(obj, dict) and step in obj else ()
    if isinstance(obj, list):
        every = enumerate(obj)
        if isinstance(step, Every):
            return every
        return [(index, each) for index, each in every if isinstance(each, dict) and each.get(step.key) == step.value]
    return obj.items() if isinstance(obj, dict) and isinstance(step, Every) else ()


def values(text: str, obj: Any) -> list[Any]:
    """The values at a path. Objects are read many times on their way, so what only names fields takes no detour."""
    path = parse(text)
    for number, step in enumerate(path):
        if not isinstance(step, str):
            return [value for _, value in located(path[number:], obj)]
        obj = obj.get(step) if isinstance(obj, dict) else None
        if obj is None:
            return []
    return [obj]


def first(text: str, obj: Any) -> Any:
    """The first value at a path, None if there is none."""
    found = values(text, obj)
    return found[0] if found else None


def remove(text: str, obj: Any) -> None:
    """Remove what is at a path, and a list that is empty then."""
    for place, _ in reversed(located(parse(text), obj)):
        holder = _at(place[:-1], obj)
        del holder[place[-1]]
        if holder == [] and place[:-1]:
            del _at(place[:-2], obj)[place[-2]]


def put(place: FieldPath, obj: Any, value: Any) -> None:
    """Set a field, with the maps above it; what is there instead of a map is replaced."""
    holder: Any = obj
    for key in place[:-1]:
        if isinstance(holder, list):
            holder = holder[int(key)]
            continue
        if not isinstance(holder.get(key), dict | list):
            holder[key] = {}
        holder = holder[key]
    holder[place[-1]] = value


def plain(text: str) -> FieldPath:
    """A path that names one field. Raises ValueError for one that may name several."""
    steps = parse(text)
    names = tuple(step for step in steps if isinstance(step, str))
    if len(names) != len(steps):
        raise ValueError(f"{text!r} may name several fields, and has to name one")
    return names


def _at(place: FieldPath, obj: Any) -> Any:
    for key in place:
        obj = obj[key]
    return obj
