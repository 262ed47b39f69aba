"""The query parameters of requests, as keyword arguments of the client's methods."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
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
    given = {_camel(name): value for name, value in options.items() if value is not False}
    return {name: _SWITCHED_ON.get(name, "true") if value is True else value for name, value in given.items()}


def with_query(path: str, query: Mapping[str, Any] | None) -> str:
    """A path with the parameters that are set."""
    pairs = {name: value for name, value in (query or {}).items() if value not in ("", None)}
    return f"{path}?{urlencode(pairs)}" if pairs else path


@cache
def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))
