"""CEL's types, and when one fits where another is wanted.

A type is a value: `INT`, `list_of(STRING)`, an object with fields from a schema. Type parameters (`A` in `list(A)`) are
bound during checking in a `Bindings`, by the Go engine's rules: the first use binds, later uses may make it more
general.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final


class CelType:
    """A type. `name` is shown in errors; `size` is the maximum number of elements, where a schema limits it."""

    __slots__ = ("_fields", "identity", "kind", "min_bytes", "name", "params", "size")

    def __init__(
        self,
        kind: str,
        name: str = "",
        params: Sequence[CelType] = (),
        *,
        fields: Callable[[], Mapping[str, CelType]] | None = None,
        identity: Any = None,
        size: int | None = None,
        min_bytes: int = 0,
    ) -> None:
        self.kind, self.name, self.params = kind, name or kind, tuple(params)
        self._fields: Any = fields
        self.identity, self.size, self.min_bytes = identity, size, min_bytes

    @property
    def fields(self) -> Mapping[str, CelType]:
        if callable(self._fields):
            self._fields = self._fields()
        found: Mapping[str, CelType] = self._fields or {}
        return found

    @property
    def elem(self) -> CelType:
        """The type of a list's items or a map's values."""
        return self.params[-1] if self.params else DYN

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.params))})" if self.params else self.name

    def same(self, other: CelType) -> bool:
        if self.kind != other.kind or self.identity is not other.identity or len(self.params) != len(other.params):
            return False
        if self.kind in ("opaque", "param") and self.name != other.name:
            return False
        return all(a.same(b) for a, b in zip(self.params, other.params, strict=True))


BOOL: Final = CelType("bool", min_bytes=4)
INT: Final = CelType("int", min_bytes=1)
UINT: Final = CelType("uint", min_bytes=1)
DOUBLE: Final = CelType("double", min_bytes=1)
STRING: Final = CelType("string")
BYTES: Final = CelType("bytes")
NULL: Final = CelType("null")
DYN: Final = CelType("dyn")
ERROR: Final = CelType("error", "!error!")
TIMESTAMP: Final = CelType("timestamp")
DURATION: Final = CelType("duration")
_SIMPLE: Final = {t.name: t for t in (BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, DYN, TIMESTAMP, DURATION)}
_NULLABLE: Final = frozenset({"optional", "opaque", "object", "duration", "timestamp"})


def list_of(elem: CelType, **more: Any) -> CelType:
    return CelType("list", params=(elem,), **more)


def map_of(key: CelType, value: CelType, **more: Any) -> CelType:
    return CelType("map", params=(key, value), **more)


def optional_of(inner: CelType) -> CelType:
    return CelType("optional", "optional_type", (inner,))


def type_of_type(inner: CelType) -> CelType:
    return CelType("type", params=(inner,))


_PIECE = re.compile(r"[\w.]+|[(),]")


def read_type(text: str) -> CelType:
    """A type from its notation: `list(string)`, `map(string, A)`, `optional(A)`; unknown names are opaque types."""
    tokens = _PIECE.findall(text)
    made, rest = _read(tokens)
    assert not rest, text
    return made


def _read(tokens: list[str]) -> tuple[CelType, list[str]]:
    name, rest = tokens[0], tokens[1:]
    params: list[CelType] = []
    if rest[:1] == ["("]:
        while rest[0] != ")":
            param, rest = _read(rest[1:])
            params.append(param)
        rest = rest[1:]
    if name in ("list", "map", "type"):
        return CelType(name, params=params), rest
    if name == "optional":
        return optional_of(params[0]), rest
    if len(name) == 1 and name.isupper():
        return CelType("param", name), rest
    return _SIMPLE.get(name) or CelType("opaque", name), rest


class Bindings:
    """The types that type parameters are bound to."""

    __slots__ = ("known",)

    def __init__(self, known: dict[str, CelType] | None = None) -> None:
        self.known = known or {}

    def assignable(self, pairs: Sequence[tuple[CelType, CelType]]) -> bool:
        """Whether each given type fits its wanted one; binds parameters only when all do."""
        trial = Bindings(dict(self.known))
        if all(trial._fits(given, wanted) for given, wanted in pairs):
            self.known = trial.known
            return True
        return False

    def _fits(self, given: CelType, wanted: CelType) -> bool:
        if wanted.kind == "param":
            valid, bound = self._substitute(given, wanted)
            if valid or bound:
                return valid
        if given.kind == "param":
            return self._substitute(wanted, given)[0]
        if given.kind in ("dyn", "error") or wanted.kind in ("dyn", "error"):
            return True
        if given.kind == "null" or wanted.kind == "null":
            other = wanted if given.kind == "null" else given
            return other.kind == "null" or other.kind in _NULLABLE
        if given.kind != wanted.kind or given.kind == "type":
            return given.kind == wanted.kind
        if given.kind in ("opaque", "optional", "list", "map"):
            same_name = given.name == wanted.name and len(given.params) == len(wanted.params)
            return same_name and all(self._fits(a, b) for a, b in zip(given.params, wanted.params, strict=True))
        return given.identity is wanted.identity

    def _substitute(self, given: CelType, param: CelType) -> tuple[bool, bool]:
        if given.same(param):
            return True, True
        known = self.known.get(param.name)
        if known is None:
            if self._mentions(given, param.name):
                return False, False
            self.known[param.name] = given
            return True, False
        if given.same(known):
            return True, True
        if not self._fits(given, known):
            return False, True
        general = _most_general(given, known)
        if not self._mentions(general, param.name):
            self.known[param.name] = general
        return True, True

    def _mentions(self, type_: CelType, name: str) -> bool:
        if type_.kind == "param":
            known = self.known.get(type_.name)
            return type_.name == name or (known is not None and self._mentions(known, name))
        return any(self._mentions(param, name) for param in type_.params)

    def resolve(self, type_: CelType, *, free_is_dyn: bool = False) -> CelType:
        """The type with its parameters filled in."""
        if type_.kind == "param":
            known = self.known.get(type_.name)
            if known is not None:
                return self.resolve(known, free_is_dyn=free_is_dyn)
            return DYN if free_is_dyn else type_
        if not type_.params:
            return type_
        params = [self.resolve(param, free_is_dyn=free_is_dyn) for param in type_.params]
        if all(a is b for a, b in zip(params, type_.params, strict=True)):
            return type_
        return CelType(type_.kind, type_.name, params, size=type_.size, min_bytes=type_.min_bytes)


def _most_general(a: CelType, b: CelType) -> CelType:
    return a if a.kind in ("dyn", "error") or (a.kind != "null" and b.kind == "null") or _looser(a, b) else b


def _looser(a: CelType, b: CelType) -> bool:
    return (
        a.kind == b.kind
        and bool(a.params)
        and any(_most_general(x, y) is x for x, y in zip(a.params, b.params, strict=False))
    )
