"""The table of CEL functions: every overload with its types and what it does.

`declare` is used by the library modules. A signature reads `string.(string) bool` for a method and `(string) int` for a
function. The checker picks overloads by static types; where these are not known, `dispatch` picks by the values.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from jobrelay.apimachinery.cel.types import CelType, read_type
from jobrelay.apimachinery.cel.values import Opaque, kind_of, no_overload

Impl = Callable[..., Any]
_SIGNATURE = re.compile(r"(?:(?P<target>.+)\.)?\((?P<params>.*)\) (?P<result>.+)")


class Overload:
    """One way to call a function. `params` starts with the target for a method."""

    __slots__ = ("function", "id", "impl", "method", "params", "result")

    def __init__(self, function: str, id_: str, signature: str, impl: Impl) -> None:
        match = _SIGNATURE.fullmatch(signature)
        assert match is not None, signature
        self.function, self.id, self.impl = function, id_, impl
        self.method = match["target"] is not None
        params = _split(match["params"])
        self.params: list[CelType] = [read_type(p) for p in ([match["target"]] if self.method else []) + params]
        self.result = read_type(match["result"])

    def accepts(self, args: tuple[Any, ...]) -> bool:
        return len(args) == len(self.params) and all(_accepts(p, a) for p, a in zip(self.params, args, strict=True))


def _split(text: str) -> list[str]:
    """The parameters between commas that are not inside parentheses."""
    found, depth, start = [], 0, 0
    for at, char in enumerate(text + ","):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            found.append(text[start:at].strip())
            start = at + 1
    return [part for part in found if part]


def _accepts(param: CelType, value: Any) -> bool:
    if param.kind in ("dyn", "param"):
        return True
    if param.kind == "opaque":
        return isinstance(value, Opaque) and value.type_name == param.name
    return kind_of(value) == param.kind


FUNCTIONS: dict[str, list[Overload]] = {}


def declare(function: str, signature: str, impl: Impl, id_: str = "") -> None:
    """Adds an overload; the id matters only where cost depends on it."""
    overloads = FUNCTIONS.setdefault(function, [])
    overloads.append(Overload(function, id_ or f"{function}_{len(overloads)}", signature, impl))


def dispatch(function: str, overloads: list[Overload], args: tuple[Any, ...]) -> Any:
    for overload in overloads:
        if overload.accepts(args):
            return overload.impl(*args)
    raise no_overload(function, *args)
