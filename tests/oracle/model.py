"""Scenarios as data: an ordered list of requests, played in a namespace of its own on every server.

Texts may hold `{{name}}` placeholders. `{{ns}}` (the scenario's namespace) and `{{run}}` (a token that is unique per
run and equal on both sides, for cluster-scoped names) always exist; a step's `capture` adds more from its answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Body = dict[str, Any] | list[Any] | str | bytes | None

PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
YAML = "application/yaml"
JSON = "application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@dataclass(frozen=True)
class Step:
    """One request. `unordered` sorts lists whose order is random on a real server; `pick` keeps parts of the answer."""

    method: str
    path: str
    body: Body = None
    headers: Mapping[str, str] = field(default_factory=dict)
    capture: Mapping[str, str] = field(default_factory=dict)
    unordered: bool = False
    pick: tuple[tuple[str, ...], ...] = ()
    until: int = 0
    """Repeat (for a few seconds) until the answer has this status code: for what a server does a moment later."""
    shows: tuple[str, str] = ("", "")
    """Repeat (for a few seconds) until the answer shows this text at this place: for what a controller does."""

    def text(self) -> str:
        return f"{self.path}\n{dict(self.headers)}\n{encoded(self.body)!r}"


@dataclass(frozen=True)
class Scenario:
    """A named list of steps; `cleanup` names cluster-scoped paths to delete afterwards (the namespace always goes)."""

    name: str
    steps: tuple[Step, ...]
    cleanup: tuple[str, ...] = ()


def scenario(name: str, steps: Iterable[Step], cleanup: Iterable[str] = ()) -> Scenario:
    return Scenario(name, tuple(steps), tuple(cleanup))


def encoded(body: Body) -> bytes | None:
    if body is None or isinstance(body, bytes):
        return body
    return body.encode() if isinstance(body, str) else json.dumps(body, separators=(",", ":")).encode()


def rendered(text: str, values: Mapping[str, str]) -> str:
    return PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), text)


def request(method: str, path: str, body: Body = None, content_type: str | None = None, **more: Any) -> Step:
    """A step whose body goes out as `content_type` (JSON unless told; an empty text sends no header)."""
    headers = dict(more.pop("headers", {}))
    if body is not None and content_type != "" and "Content-Type" not in headers:
        headers["Content-Type"] = content_type or JSON
    return Step(method, path, body, headers, **more)


def get(path: str, accept: str = "", **more: Any) -> Step:
    headers = {**more.pop("headers", {}), **({"Accept": accept} if accept else {})}
    return Step("GET", path, None, headers, **more)


def post(path: str, body: Body, content_type: str | None = None, **more: Any) -> Step:
    return request("POST", path, body, content_type, **more)


def put(path: str, body: Body, content_type: str | None = None, **more: Any) -> Step:
    return request("PUT", path, body, content_type, **more)


def patch(path: str, body: Body, content_type: str = MERGE, **more: Any) -> Step:
    return request("PATCH", path, body, content_type, **more)


def apply(path: str, body: Body, manager: str = "applier", force: bool | None = None, **more: Any) -> Step:
    query = f"fieldManager={manager}" + ("" if force is None else f"&force={str(force).lower()}")
    return request("PATCH", f"{path}{'&' if '?' in path else '?'}{query}", body, APPLY, **more)


def delete(path: str, body: Body = None, **more: Any) -> Step:
    return request("DELETE", path, body, **more)


def as_user(step: Step, user: str, *groups: str) -> Step:
    """The same request, impersonating a user (one group at most: header names are unique here)."""
    headers = {**step.headers, "Impersonate-User": user}
    if groups:
        headers["Impersonate-Group"] = ",".join(groups)
    return Step(**{**step.__dict__, "headers": headers})
