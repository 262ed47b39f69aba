"""CEL's values at run time: plain Python ones where they fit, small classes for the rest; equality, order, type names.

int, float, str, bytes, bool, None, list and dict mean themselves. A custom resource's objects and lists come as views
that convert on access (see `kinds.apiextensions.decls`); they register as `Mapping` and `Sequence`, which is all that
is needed here.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jobrelay.apimachinery.cel.literals import Uint

__all__ = ["CelError", "CelOptional", "Duration", "JoinedList", "Opaque", "Timestamp", "TypeValue", "Uint"]
SECOND: Final = 10**9
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1


class CelError(ValueError):
    """An error of evaluation, in the Go engine's words."""


@dataclass(frozen=True, order=True, slots=True)
class Timestamp:
    """A moment, in nanoseconds since the epoch."""

    ns: int

    def moment(self, zone: dt.tzinfo = dt.UTC) -> dt.datetime:
        return (_EPOCH + dt.timedelta(microseconds=self.ns // 1000)).astimezone(zone)

    def __str__(self) -> str:
        fraction = f".{self.ns % SECOND:09d}".rstrip("0").rstrip(".") if self.ns % SECOND else ""
        return self.moment().strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0") + fraction + "Z"


@dataclass(frozen=True, order=True, slots=True)
class Duration:
    """A length of time, in nanoseconds."""

    ns: int


class CelOptional:
    """A value that may be absent."""

    __slots__ = ("present", "value")

    def __init__(self, value: Any = None, *, present: bool = False) -> None:
        self.value, self.present = value, present

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CelOptional):
            return False
        return self.present == other.present and (not self.present or equal(self.value, other.value))

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value: what `type(x)` gives and what `int` names."""

    name: str


class Opaque:
    """A value of one of Kubernetes' own types, such as kubernetes.Quantity."""

    __slots__ = ("type_name", "value")

    def __init__(self, type_name: str, value: Any) -> None:
        self.type_name, self.value = type_name, value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and other.type_name == self.type_name and bool(other.value == self.value)

    def __hash__(self) -> int:
        return hash((self.type_name, str(self.value)))


class JoinedList(Sequence[Any]):
    """Two lists one after the other. Joining costs 1 whatever their sizes are, so nothing is copied."""

    __slots__ = ("_first", "_second", "_size", "_split")

    def __init__(self, first: Any, second: Any) -> None:
        self._first, self._second = first, second
        self._split, self._size = len(first), len(first) + len(second)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(self._size))]
        return self._first[index] if index < self._split else self._second[index - self._split]

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain(self._first, self._second)

    def __len__(self) -> int:
        return self._size

    def __eq__(self, other: object) -> bool:
        return equal(self, other)

    __hash__ = None  # type: ignore[assignment]


_KINDS: Final[dict[type, str]] = {
    bool: "bool", int: "int", Uint: "uint", float: "double", str: "string", bytes: "bytes", type(None): "null",
    list: "list",
    dict: "map", Timestamp: "timestamp", Duration: "duration", CelOptional: "optional", TypeValue: "type",
}  # fmt: skip
_PLAIN: Final = frozenset({bool, bytes, float, int, str})  # classes whose own operators are those of CEL
_TYPE_NAMES: Final = {
    "null": "null_type", "timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration",
    "optional": "optional_type",
}  # fmt: skip


def kind_of(value: Any) -> str:
    """The kind of a value, named as in `types`: int, list, map, opaque ..."""
    return _KINDS.get(type(value)) or _other_kind(value)


def _other_kind(value: Any) -> str:
    """The kind of a value whose class was not met before; kinds go by class alone."""
    if isinstance(value, Opaque):
        kind = "opaque"
    elif isinstance(value, Mapping):
        kind = "map"
    else:
        kind = "list" if isinstance(value, Sequence) else "dyn"
    return _KINDS.setdefault(type(value), kind)


def type_name(value: Any) -> str:
    """The name that `type(value)` has."""
    if isinstance(value, Opaque):
        return value.type_name
    kind = kind_of(value)
    return _TYPE_NAMES.get(kind, kind)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def equal(a: Any, b: Any) -> bool:
    """CEL equality: numbers by value, other kinds only with their own."""
    if a.__class__ is b.__class__ and a.__class__ in _PLAIN:
        return bool(a == b)
    if is_number(a) and is_number(b):
        return bool(a == b)
    kind = kind_of(a)
    if kind != kind_of(b):
        return False
    if kind in ("list", "map") and (same := getattr(a, "same", None)) is not None:
        return bool(same(b))
    if kind == "list":
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))
    if kind == "map":
        return len(a) == len(b) and all(key in b and equal(value, b[key]) for key, value in a.items())
    return bool(a == b)


def compare(a: Any, b: Any) -> int:
    """-1, 0 or 1; raises CelError when the two cannot be ordered. Texts are in the order of their code points."""
    if a.__class__ is b.__class__ and a.__class__ in _PLAIN:
        return -1 if a < b else int(b < a)
    both = kind_of(a) == kind_of(b) and kind_of(a) in ("string", "bytes", "bool", "timestamp", "duration")
    if not both and not (is_number(a) and is_number(b)):
        raise no_overload("compare", a, b)
    return -1 if a < b else int(b < a)


_UNNAMED: Final = frozenset({
    "_+_", "_-_", "_*_", "_/_", "_%_", "-_", "!_", "_<_", "_<=_", "_>_", "_>=_", "_[_]", "@in", "compare",
    "startsWith", "endsWith", "contains", "matches",
})  # fmt: skip


_NUMBERS: Final = frozenset({"double", "int", "uint"})
_ORDERED: Final = _NUMBERS | {"bool", "bytes", "duration", "string", "timestamp"}
_OPERANDS: Final = {  # the kinds that know an operator, or answer for themselves that they do not
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _ORDERED),
    **dict.fromkeys(("_-_", "_*_", "_/_", "_%_", "-_"), _NUMBERS | {"duration", "string", "timestamp"}),
    "_+_": (_ORDERED | {"list"}) - {"bool"},
}


def no_overload(function: str, *args: Any) -> CelError:
    """Arguments that no overload takes; the engine names built-in functions only for values that do not know them."""
    if function in _OPERANDS and kind_of(args[0]) not in _OPERANDS[function]:
        return CelError(f"no such overload: {function}")
    if function in _UNNAMED:
        return CelError("no such overload")
    if function == "size":
        return CelError("no such overload: size")
    return CelError(f"no such overload: {function}({', '.join(type_name(arg) for arg in args)})")


def no_conversion(value: Any, wanted: str) -> CelError:
    return CelError(f"type conversion error from '{type_name(value)}' to '{_TYPE_NAMES.get(wanted, wanted)}'")


def checked_int(value: int) -> int:
    if not INT_MIN <= value <= INT_MAX:
        raise CelError("integer overflow")
    return value


def checked_uint(value: int) -> Uint:
    if not 0 <= value < 2**64:
        raise CelError("unsigned integer overflow")
    return Uint(value)
