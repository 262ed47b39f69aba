"""What one call of a function costs at most, beside its arguments, and how big its result can be."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

from jobrelay.apimachinery.cel.functions import Overload
from jobrelay.apimachinery.cel.syntax import Call, Expr, Literal
from jobrelay.apimachinery.cel.types import CelType

_MAX: Final = 2**64 - 1
_TEXT: Final = 0.1
_REGEX: Final = 0.25
_FORMAT_REGEX: Final = 128
_FORMAT_NAME: Final = 64


class Size(NamedTuple):
    """How many elements, at least and at most."""

    low: int
    high: int

    def union(self, other: Size) -> Size:
        return Size(min(self.low, other.low), max(self.high, other.high))

    def plus(self, other: Size) -> Size:
        return Size(min(self.low + other.low, _MAX), min(self.high + other.high, _MAX))

    def times(self, other: Size) -> Size:
        return Size(min(self.low * other.low, _MAX), min(self.high * other.high, _MAX))


def scaled(count: int, factor: float) -> int:
    if count and factor and count > _MAX / factor:
        return _MAX
    return min(math.ceil(float(count) * factor), _MAX)


Estimate = tuple[int, Size | None]
_NOMINAL: Final = frozenset({
    "masked", "prefixLength", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast",
    "isGlobalUnicast", "format.named", "sign", "asInteger", "isInteger", "asApproximateFloat", "isGreaterThan",
    "isLessThan", "compareTo", "add", "sub", "major", "minor", "patch", "getScheme", "getHostname", "getHost",
    "getPort", "getEscapedPath", "getQuery",
})  # fmt: skip
_TRAVERSALS: Final = frozenset({"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"})
_PARSERS: Final = frozenset({"cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"})
_SETS: Final = {"sets.contains": 1, "sets.intersects": 1, "sets.equivalent": 2}
_TEXT_ORDERS: Final = frozenset({"less_string", "less_bytes", "equals", "not_equals"})


class CallCosts:
    """The table of costs; the functions look up what is known of an argument."""

    def __init__(
        self,
        size: Callable[[Expr], Size],
        known: Callable[[Expr], Size | None],
        element: Callable[[Expr], tuple[CelType, Size] | None],
        type_: Callable[[Expr], CelType],
    ) -> None:
        self._size, self._known, self._element, self._type = size, known, element, type_

    def cost(self, overload: Overload, call: Call) -> Estimate:
        name = call.function
        if name in _NOMINAL:
            return 1, None
        if name == "_==_" and (found := self._same_kind(call.args)):
            return found
        if call.target is not None and (found := self._method(overload, call.target, call.args)):
            return found
        if call.target is None and (found := self._function(name, call.args)):
            return found
        return self._built_in(overload, call)

    def _same_kind(self, args: list[Expr]) -> Estimate | None:
        """Equality of two values of one of Kubernetes' own types."""
        left, right = (self._type(arg) for arg in args)
        if left.kind != "opaque" or not left.same(right):
            return None
        if left.name == "kubernetes.NamedFormat":
            return scaled(_FORMAT_NAME, _TEXT), None
        if left.name == "kubernetes.URL":
            known = self._known(args[1])
            return scaled(known.high if known is not None else 1, _TEXT), None
        return 1, None

    def _traverse(self, expr: Expr, factor: float = _TEXT) -> int:
        return scaled(self._size(expr).high, factor)

    def _method(self, overload: Overload, target: Expr, args: list[Expr]) -> Estimate | None:
        name, size = overload.function, self._size(target)
        if name in _TRAVERSALS:
            return self._traversal(target, size)
        if name in ("lowerAscii", "upperAscii", "substring", "trim"):
            return scaled(size.high, _TEXT), size
        if name == "replace":
            return scaled(size.high, 2 * _TEXT), self._replaced(size, self._size(args[0]), self._size(args[1]))
        if name == "split":
            limit = args[1].value if len(args) > 1 and isinstance(args[1], Literal) else size.high
            return scaled(size.high, 2 * _TEXT), Size(0, limit)
        if name == "join":
            return self._join(target, size, args)
        if name in ("find", "findAll"):
            cost = scaled(min(size.high + 1, _MAX), _TEXT) * self._traverse(args[0], _REGEX)
            return min(cost, _MAX), Size(0, size.high)
        if name == "ip":
            return 1, None
        if name in ("containsIP", "containsCIDR"):
            parsing = self._traverse(args[0]) if overload.params[1].kind == "string" else 0
            return (4 if name == "containsIP" else 7) + parsing, None
        return self._list_method(name, target, size, args)

    def _list_method(self, name: str, target: Expr, size: Size, args: list[Expr]) -> Estimate | None:
        if name == "validate":
            return scaled(self._traverse(args[0]), _FORMAT_REGEX * _REGEX), None
        if name == "slice":
            start, end = _constant(args[0], 0), _constant(args[1], size.high)
            return _list_call(1, Size(max(end - start, 0), max(end - start, 0)))
        if name in ("reverse", "flatten"):
            return _list_call(_constant(args[0], _MAX) if args else 1, size)
        if name in ("distinct", "sort"):
            return _list_call(2 if name == "distinct" else 2.1 if self._is_text(target) else 2, size.times(size))
        return None

    def _is_text(self, target: Expr) -> bool:
        found = self._element(target)
        return found is not None and found[0].kind in ("string", "bytes")

    def _traversal(self, target: Expr, size: Size) -> Estimate:
        found = self._element(target)
        if found is None:
            return scaled(size.high, _TEXT), None
        per_item = 1 + (scaled(found[1].high, _TEXT) if found[0].kind in ("string", "bytes") else 0)
        return min(size.high * per_item, _MAX), None

    def _join(self, target: Expr, size: Size, args: list[Expr]) -> Estimate:
        found = self._element(target)
        made = size.times(found[1]) if found is not None else Size(0, 0)
        if args:
            gaps = Size(max(size.low - 1, 0), max(size.high - 1, 0))
            made = made.plus(self._size(args[0]).times(gaps))
        return scaled(made.high, _TEXT), made

    @staticmethod
    def _replaced(size: Size, old: Size, new: Size) -> Size:
        if old.low == 0:
            high = min((size.high + 1) * new.high + size.high, _MAX)
        elif new.high <= old.low:
            high = size.high
        else:
            high = min(math.ceil(size.high / old.low) * new.high, _MAX)
        return Size(0, high)

    def _function(self, name: str, args: list[Expr]) -> Estimate | None:
        if name == "url":
            return self._traverse(args[0]), self._size(args[0])
        if name in _PARSERS or name == "ip":
            return self._traverse(args[0]), None
        if name == "ip.isCanonical":
            return self._traverse(args[0], 2 * _TEXT), None
        if name in _SETS:
            both = self._size(args[0]).times(self._size(args[1]))
            return scaled(both.high, _SETS[name]) + 1, None
        if name == "lists.range":
            count = _constant(args[0], _MAX)
            return _list_call(1, Size(count, count))
        return None

    def _built_in(self, overload: Overload, call: Call) -> Estimate:
        args, id_ = call.args, overload.id
        if id_ in ("starts_with_string", "ends_with_string"):
            return self._traverse(args[0]), None
        if id_ == "in_list":
            return self._size(args[1]).high, None
        if id_ == "matches_string" and call.target is not None:
            text = scaled(min(self._size(call.target).high + 1, _MAX), _TEXT)
            return min(text * self._traverse(args[0], _REGEX), _MAX), None
        if id_ == "contains_string" and call.target is not None:
            return min(self._traverse(call.target) * self._traverse(args[0]), _MAX), None
        if id_ in ("add_string", "add_bytes", "add_list"):
            made = self._size(args[0]).plus(self._size(args[1]))
            return 1 if id_ == "add_list" else scaled(made.high, _TEXT), made
        if id_ in _TEXT_ORDERS:
            return scaled(min(self._size(args[0]).high, self._size(args[1]).high), _TEXT), None
        if overload.function == "format" and call.target is not None:
            return self._traverse(call.target), None
        return self._conversion(overload, args)

    def _conversion(self, overload: Overload, args: list[Expr]) -> Estimate:
        if overload.function == "bytes" and overload.params[0].kind == "string":
            size = self._size(args[0])
            return scaled(size.high, _TEXT), Size(size.low, min(size.high * 4, _MAX))
        if overload.id == "bytes_to_string":
            size = self._size(args[0])
            return scaled(size.high, _TEXT), Size(size.low // 4, size.high)
        if overload.function == "strings.quote":
            size = self._size(args[0])
            return scaled(size.high, _TEXT), Size(size.low + 2, min(size.high * 2 + 2, _MAX))
        return 1, None


def _constant(expr: Expr, otherwise: int) -> int:
    return expr.value if isinstance(expr, Literal) and isinstance(expr.value, int) else otherwise


def _list_call(factor: float, size: Size) -> Estimate:
    return min(scaled(size.high, factor) + 11, _MAX), size
