"""The query parameters of requests, as keyword arguments of the client's methods."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, TypedDict
from urllib.parse import urlencode

__all__ = ["ListQuery", "LogQuery", "Selectors", "WatchQuery", "WriteQuery", "query_parameters", "with_query"]

_SWITCHED_ON = {"dryRun": "All"}


class Selectors(TypedDict, total=False):
    """Which objects of a collection are meant, in the notation of kubectl; by default all."""

    label_selector: str
    field_selector: str


class ListQuery(Selectors, total=False):
    """Which objects are listed, and at which version."""

    resource_version: str
    resource_version_match: str


class WatchQuery(Selectors, total=False):
    """Which objects are watched, from which version, and for how long at most."""

    resource_version: str
    timeout_seconds: int | None


class WriteQuery(TypedDict, total=False):
    """In whose name fields are written, and whether the server only checks the request."""

    field_manager: str
    dry_run: bool


class LogQuery(TypedDict, total=False):
    """Which part of a pod's logs is read."""

    container: str
    follow: bool
    previous: bool
    timestamps: bool
    tail_lines: int | None
    since_seconds: int | None


def query_parameters(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are set, under their names in the API."""
    return {
        (key := _camel(name)): _SWITCHED_ON.get(key, "true") if value is True else value
        for name, value in options.items()
        if value is not False
    }


def with_query(path: str, query: Mapping[str, Any] | None) -> str:
    """A path with the parameters that are set."""
    if not query:
        return path
    pairs = tuple([(name, str(value)) for name, value in query.items() if value not in ("", None)])
    return f"{path}?{_encoded(pairs)}" if pairs else path


@lru_cache(maxsize=256)
def _encoded(pairs: tuple[tuple[str, str], ...]) -> str:
    """The pairs as they are in a URL: most requests of a client have one of a few queries."""
    return urlencode(pairs)


@cache
def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))
