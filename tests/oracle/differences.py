"""Finds where two answers differ and says it in one line each; groups differences that look like one cause."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from .runner import Answer

MISSING = object()
INDEX = re.compile(r"\[\d+\]")


def between(real: Answer, ours: Answer) -> list[tuple[str, str, str]]:
    """(path, real, ours) for each difference; empty when the answers are identical.

    Where a real server drops the connection (it panics on a few bodies), any clear answer will do.
    """
    if real.code == 0 and ours.code >= 400:
        return []
    found: list[tuple[str, str, str]] = []
    if real.code != ours.code:
        found.append(("code", str(real.code), f"{ours.code} {_message(ours.body)}"))
    if real.content_type != ours.content_type:
        found.append(("content-type", real.content_type, ours.content_type))
    if real.warnings != ours.warnings:
        found.append(("warnings", _short(real.warnings), _short(ours.warnings)))
    found.extend(_walk(real.body, ours.body, ""))
    return found


def _walk(real: Any, ours: Any, path: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(real, dict) and isinstance(ours, dict):
        for key in sorted({*real, *ours}):
            yield from _walk(real.get(key, MISSING), ours.get(key, MISSING), f"{path}.{key}")
    elif isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        for index, (left, right) in enumerate(zip(real, ours, strict=True)):
            yield from _walk(left, right, f"{path}[{index}]")
    elif type(real) is not type(ours) or real != ours:
        yield (path or "body", _short(real), _short(ours))


def _short(value: Any, limit: int = 700) -> str:
    if value is MISSING:
        return "(absent)"
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def _message(body: Any) -> str:
    return str(body.get("message", "")) if isinstance(body, dict) else ""


def signature(method: str, real: Answer, ours: Answer, found: list[tuple[str, str, str]]) -> str:
    """A coarse name of the likely cause, so that one fix can be seen to close many differences."""
    if real.code != ours.code:
        return f"{method}: {real.code} {_reason(real)} there, {ours.code} {_reason(ours)} here"
    path, left, right = found[0]
    path = INDEX.sub("[]", path)
    kind = "missing here" if right == "(absent)" else "only here" if left == "(absent)" else "differs"
    where = re.sub(r"(f:|k:)[^.]*", r"\1…", path) if "fieldsV1" in path else path
    return f"{method} {real.code}: {where} {kind}"


def _reason(answer: Answer) -> str:
    return str(answer.body.get("reason", "")) if isinstance(answer.body, dict) else ""
