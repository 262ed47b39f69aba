"""One request as the server sees it, and what its path says: verb, group, version, resource, namespace, name.

Both are immutable. Authentication makes a request with a user of one without (`authenticated`); everything that later
steps find out is a value of its own.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qs, unquote

import msgspec

_VERBS: Final = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAME: Final = re.compile(r"(?!\.\.?$)[^/%\\,=!]+")
_ORIGIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?]*")  # of an absolute target
_NAMESPACE_SUBRESOURCES: Final = ("status", "finalize")


class UserInfo(msgspec.Struct, frozen=True):
    """An authenticated user. `extra` maps keys to lists of values, as in a TokenReview."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = {}

    def info(self) -> dict[str, Any]:
        """The user as a UserInfo object."""
        extra = {key: list(values) for key, values in self.extra.items()}
        found = {"username": self.name, "uid": self.uid, "groups": list(self.groups), "extra": extra}
        return {key: value for key, value in found.items() if value}


ANONYMOUS: Final = UserInfo("system:anonymous", ("system:unauthenticated",))


class RequestInfo(msgspec.Struct, frozen=True):
    """What a method and a path mean. `resource` is empty for paths that are not about resources.

    `selected` is the name in a list's field selector: for permissions it counts as the name.
    """

    verb: str
    path: str
    prefix: str = ""
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    name: str = ""
    subresource: str = ""
    parts: tuple[str, ...] = ()
    selected: str = ""

    @property
    def about_resource(self) -> bool:
        return bool(self.version)


class ApiRequest(msgspec.Struct, frozen=True, eq=False):
    """A whole request.

    `headers` has lower-case names and all values of each; `peer` is the user of a client certificate, if there was one;
    `user` is the authenticated user; `warnings` collects the warnings of the answer.
    """

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, Sequence[str]]
    info: RequestInfo
    body: bytes = b""
    peer: UserInfo | None = None
    user: UserInfo = ANONYMOUS
    warnings: dict[str, None] = {}

    def header(self, name: str) -> str:
        """The first value of a header, or nothing."""
        values = self.headers.get(name)
        return values[0] if values else ""

    def first(self, name: str) -> str:
        values = self.query.get(name)
        return values[0] if values else ""

    def warn(self, *texts: str) -> None:
        self.warnings.update(dict.fromkeys(texts))

    def authenticated(self, user: UserInfo) -> ApiRequest:
        return msgspec.structs.replace(self, user=user)

    def with_body(self, body: bytes) -> ApiRequest:
        return msgspec.structs.replace(self, body=body)


def received(
    method: str, target: str, headers: Mapping[str, Sequence[str]], body: bytes = b"", peer: UserInfo | None = None
) -> ApiRequest:
    """A request as received: `target` is path and query."""
    path, query, info = _parsed(method, target)
    return ApiRequest(method, path, query, headers, info, body, peer)


@functools.lru_cache(1024)
def _parsed(method: str, target: str) -> tuple[str, Mapping[str, list[str]], RequestInfo]:
    """What a method and a target mean. Clients send few different ones, again and again."""
    path, query = split_target(target)
    return path, query, parse_info(method, path, query)


def split_target(target: str) -> tuple[str, dict[str, list[str]]]:
    """A request target as path and query."""
    if "?" not in target and "%" not in target and "#" not in target and target[:2] != "//" and target[:1] == "/":
        return target, {}
    path, _, query = _ORIGIN.sub("", target.partition("#")[0]).partition("?")
    return unquote(path), parse_qs(query, keep_blank_values=True) if query else {}


def flag(query: Mapping[str, list[str]], name: str) -> bool:
    """A boolean of the query: absent, "false" and "0" are false, anything else is true."""
    values = query.get(name)
    return bool(values) and values is not None and values[0].lower() not in ("false", "0", "")


def _selected_name(query: Mapping[str, list[str]]) -> str:
    for term in (query.get("fieldSelector") or [""])[0].split(","):
        label, _, name = term.replace("==", "=", 1).partition("=")
        if label == "metadata.name" and _NAME.fullmatch(name):
            return name
    return ""


def parse_info(method: str, path: str, query: Mapping[str, list[str]]) -> RequestInfo:
    """What a path and method mean. Unknown shapes are answered as paths that are not about resources."""
    prefix, *rest = path.strip("/").split("/")
    group = ""
    if prefix == "apis" and len(rest) > 2:
        group, *rest = rest
    elif prefix != "api" or len(rest) < 2:
        return RequestInfo(method.lower(), path)
    version, *rest = rest
    verb = _VERBS.get(method, "")
    if rest[0] == "watch" and len(rest) > 1:
        verb, rest = "watch", rest[1:]
    namespace = selected = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
            rest = rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 and verb != "watch" else ""
    if not name and verb == "get":
        verb, selected = "watch" if flag(query, "watch") else "list", _selected_name(query)
    elif not name and verb == "delete":
        verb = "deletecollection"
    return RequestInfo(verb, path, prefix, group, version, namespace, rest[0], name, subresource, tuple(rest), selected)
