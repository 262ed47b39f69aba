"""Warnings about files in one volume that would lie on top of each other."""

from __future__ import annotations

from collections.abc import Iterable

from jobrelay.apimachinery.field import go_quote
from jobrelay.kinds.core.pod.common import Fields

Place = tuple[str, str]  # a path and what it comes from


def overlap_warnings(volumes: Iterable[Fields]) -> list[str]:
    warnings: list[str] = []
    for volume in volumes:
        name = go_quote(volume.get("name", ""))
        for field, what, reference in (
            ("configMap", "ConfigMap", "name"), ("secret", "Secret", "secretName"), ("downwardAPI", "DownwardAPI", ""),
        ):  # fmt: skip
            source = volume.get(field) or {}
            described = f"{what} {go_quote(source.get(reference, ''))}" if reference else what
            places = [(item.get("path", ""), "") for item in source.get("items") or ()]
            warnings += [f"volume {name} ({described}): overlapping paths: {text}" for text in _overlaps(places)]
        if volume.get("projected") is not None:
            warnings += _projected_warnings(volume["projected"].get("sources") or (), name)
    return warnings


def _projected_warnings(sources: Iterable[Fields], name: str) -> list[str]:
    warnings: list[str] = []
    known: list[Place] = []
    for source in sources:
        if not source:
            warnings.append(f"volume {name} (Projected) has no sources provided")
            continue
        for place in _places(source):
            found = _collisions(known, place)
            warnings += [f"volume {name} (Projected): overlapping paths: {text}" for text in found]
            known.append((place[0].rstrip("/"), place[1]))
    return warnings


def _places(source: Fields) -> list[Place]:
    for field, what in (("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")):
        projection = source.get(field) or {}
        if projection.get("items"):
            described = what if field == "downwardAPI" else f"{what} {go_quote(projection.get('name', ''))}"
            return [(item.get("path", ""), described) for item in projection["items"]]
    token = source.get("serviceAccountToken")
    return [(token.get("path", ""), "ServiceAccountToken")] if token is not None else []


def _overlaps(places: Iterable[Place]) -> list[str]:
    known: list[Place] = []
    texts: list[str] = []
    for place in places:
        texts += _collisions(known, place)
        known.append((place[0].rstrip("/"), place[1]))
    return texts


def _collisions(known: Iterable[Place], place: Place) -> list[str]:
    path = place[0].rstrip("/")
    if not path:
        return []
    return [
        f"{_shown((path, place[1]))} with {_shown(other)}"
        for other in known
        if other[0] and (f"{other[0]}/".startswith(f"{path}/") or f"{path}/".startswith(f"{other[0]}/"))
    ]


def _shown(place: Place) -> str:
    return f"{go_quote(place[0])} ({place[1]})" if place[1] else go_quote(place[0])
