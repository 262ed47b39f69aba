"""The identity of a caller, from the headers of a front proxy.

Which headers those are, which authority signs the proxy's certificate and which names it may have is published by the
API server in the ConfigMap extension-apiserver-authentication. The functions here are pure: that the headers come over
a connection of that proxy, their caller has checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import unquote

import msgspec

from jobrelay.apimachinery.gojson import UNREADABLE

_PREFIX: Final = "requestheader-"
_UID: Final = ("X-Remote-Uid",)


class Caller(msgspec.Struct, frozen=True):
    """An authenticated user. `direct` ones called the relay itself, so nobody has asked RBAC about them yet."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()
    direct: bool = False


class RequestHeaders(msgspec.Struct, frozen=True):
    """What is published about a front proxy; header names are in lower case."""

    authority: str
    """The certificates of the authority, PEM."""
    names: frozenset[str]
    """The common names that its certificate may have; any if empty."""
    users: tuple[str, ...]
    groups: tuple[str, ...]
    extras: tuple[str, ...]
    """Prefixes of header names."""
    uids: tuple[str, ...]


def parse_request_headers(data: Mapping[str, str]) -> RequestHeaders | None:
    """The data of the ConfigMap; None if it describes no front proxy."""
    authority = data.get(f"{_PREFIX}client-ca-file", "")
    users = _names(data, "username-headers")
    if not authority.strip() or not users:
        return None
    return RequestHeaders(
        authority,
        frozenset(_texts(data, "allowed-names")),
        users,
        _names(data, "group-headers"),
        _names(data, "extra-headers-prefix"),
        _names(data, "uid-headers") or tuple(each.lower() for each in _UID),
    )


def _names(data: Mapping[str, str], key: str) -> tuple[str, ...]:
    return tuple(each.lower() for each in _texts(data, key))


def _texts(data: Mapping[str, str], key: str) -> list[str]:
    """A list of texts as JSON. One that cannot be read allows nothing: it is no reason to believe more."""
    try:
        return msgspec.json.decode(data.get(f"{_PREFIX}{key}") or "[]", type=list[str])
    except UNREADABLE:
        return ["\0"]


def caller_of(fields: Iterable[tuple[str, str]], known: RequestHeaders) -> Caller | None:
    """The caller that the header fields of a front proxy name; None if they name nobody."""
    found: dict[str, list[str]] = {}
    for name, value in fields:
        found.setdefault(name.lower(), []).append(value)
    user = _first(found, known.users)
    if not user:
        return None
    groups = tuple(value for name in known.groups for value in found.get(name, ()))
    extra = {
        unquote(name.removeprefix(prefix)): tuple(values)
        for prefix in known.extras
        for name, values in sorted(found.items())
        if prefix and name.startswith(prefix)
    }
    return Caller(user, _first(found, known.uids), groups, tuple(extra.items()))


def _first(found: Mapping[str, list[str]], names: Iterable[str]) -> str:
    return next((values[0] for name in names for values in [found.get(name, [])] if values and values[0]), "")
