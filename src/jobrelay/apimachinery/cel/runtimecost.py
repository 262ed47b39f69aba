"""What a call costs when it is evaluated, beside its arguments: a number, or a function of the values.

The rules are those of the Go engine and of Kubernetes' libraries. A size is what `size()` gives: characters, bytes,
items; of addresses and networks it is bytes; everything else has size 1, and so have errors (`FAILED`). A cost that
depends on the result is told apart, since it can only be charged afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from jobrelay.apimachinery.cel.functions import Overload
from jobrelay.apimachinery.cel.types import CelType
from jobrelay.apimachinery.cel.values import CelOptional, Opaque, kind_of

LIST: Final = 10
MAP: Final = 30
STRUCT: Final = 40
FAILED: Final = object()  # in place of an argument or a result that is an error
_ALLOCATION: Final = 1 + LIST
_SCALARS: Final = frozenset({"bool", "double", "duration", "int", "null", "timestamp", "type", "uint"})
_SIZED: Final = frozenset({"bytes", "list", "map", "string"})
_BYTES: Final[dict[str, Callable[[Any], int]]] = {
    "net.IP": lambda ip: ip.max_prefixlen // 8,
    "net.CIDR": lambda cidr: (cidr.network.prefixlen + 7) // 8,
}
_FORMAT_REGEX: Final = {
    "dns1123Label": 30, "dns1123Subdomain": 60, "dns1035Label": 30, "qualifiedName": 60, "dns1123LabelPrefix": 30,
    "dns1123SubdomainPrefix": 60, "dns1035LabelPrefix": 30, "labelValue": 40, "uri": 1103, "uuid": 70, "byte": 84,
    "date": 71, "datetime": 71,
}  # fmt: skip

Costing = Callable[..., int]


class CallCost(NamedTuple):
    """A fixed cost, or one that is computed of the arguments, or of the result."""

    fixed: int = 0
    of_args: Costing | None = None
    of_result: Costing | None = None


def size_of(value: Any) -> int:
    if kind_of(value) in _SIZED:
        return len(value)
    if isinstance(value, Opaque) and value.type_name in _BYTES:
        return _BYTES[value.type_name](value.value)
    return 1


def _tenth(size: int) -> int:
    return (size + 9) // 10


def _fifth(size: int) -> int:
    return (2 * size + 9) // 10


def _regex(text: int, pattern: int) -> int:
    return _tenth(text + 1) * ((pattern + 3) // 4)


def _selector(size: int) -> int:
    """Reading a selector: a requirement has at least two characters, and makes a struct and a list."""
    return LIST + _tenth(size) + (size + 1) // 2 * (LIST + STRUCT)


def _traversal(value: Any) -> int:
    """What it takes to visit everything inside a value."""
    kind = kind_of(value)
    if kind == "string":
        return len(value.encode("utf-8", "surrogatepass")) // 10
    if kind == "bytes":
        return len(value) // 10
    if kind == "map":
        return sum(_traversal(key) + _traversal(value[key]) for key in value)
    return sum(map(_traversal, value)) if kind == "list" else 1


def _smaller(a: Any, b: Any) -> int:
    """What comparing two values costs: an optional has the size of its value."""
    if a.__class__ is str and b.__class__ is str:
        return (min(len(a), len(b)) + 9) // 10
    a, b = (value.value if isinstance(value, CelOptional) and value.present else value for value in (a, b))
    return _tenth(min(size_of(a), size_of(b)))


def _equality(a: Any, b: Any) -> int:
    return 1 if isinstance(a, Opaque) else _smaller(a, b)


def _containment(function: str, *, parses: bool) -> CallCost:
    """An address or a network inside a network; a text is parsed first."""

    def costing(cidr: Any, other: Any) -> int:
        compared = _fifth(size_of(cidr)) + (_tenth(size_of(other)) if parses else 0)
        return compared if function == "containsIP" else compared + _tenth(size_of(cidr)) + 1

    return CallCost(of_args=costing)


def _validation(format_: Any, text: Any) -> int:
    return _regex(size_of(text), _FORMAT_REGEX[format_.value]) if isinstance(format_, Opaque) else 1


def _each_with_each(items: Any) -> int:
    size = size_of(items)
    texts = size > 0 and isinstance(items, Sequence) and isinstance(items[0], (str, bytes))
    return int(size * size * (2.1 if texts else 2.0)) + _ALLOCATION


def sorted_by(keys: Any) -> int:
    """What `sortBy` costs beside the loop that makes the keys."""
    return _each_with_each(keys)


def _of_first(costing: Callable[[Any], int]) -> CallCost:
    return CallCost(of_args=lambda first, *_: costing(first))


def _flattening(items: Any, depth: Any = 1) -> int:
    return int(size_of(items) * float(depth if depth is not FAILED else 1)) + _ALLOCATION


_TRAVERSAL: Final = _of_first(_traversal)
_READING: Final = _of_first(lambda text: _tenth(size_of(text)))
_REWRITING: Final = _of_first(lambda text: _fifth(size_of(text)))
_MATCHING: Final = CallCost(of_args=lambda text, pattern, *_: _regex(size_of(text), size_of(pattern)))
_COPYING: Final = CallCost(of_result=lambda made: size_of(made) + _ALLOCATION)
_COMPARING: Final = CallCost(of_args=_smaller)
_JOINING: Final = CallCost(of_args=lambda a, b: _tenth(size_of(a) + size_of(b)))
_ONE: Final = CallCost(1)

_BY_FUNCTION: Final[dict[str, CallCost]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _TRAVERSAL),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR"), _READING),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _READING),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _REWRITING),
    **dict.fromkeys(("find", "findAll"), _MATCHING),
    "join": CallCost(of_result=lambda made: _fifth(size_of(made))),
    "check": CallCost(350_000),  # of a permission: two fit into one expression
    **dict.fromkeys(("fieldSelector", "labelSelector"), CallCost(of_args=lambda _, text: _selector(size_of(text)))),
    "validate": CallCost(of_args=_validation),
    "_==_": CallCost(of_args=_equality),
    "_!=_": _COMPARING,
}
_BY_ONLY_OVERLOAD: Final[dict[str, CallCost]] = {
    **dict.fromkeys(("startsWith", "endsWith", "format", "strings.quote"), _READING),
    **dict.fromkeys(("slice", "reverse"), _COPYING),
    **dict.fromkeys(("distinct", "sort"), _of_first(_each_with_each)),
    **dict.fromkeys(("less_string", "less_bytes"), _COMPARING),
    **dict.fromkeys(("add_string", "add_bytes"), _JOINING),
    "flatten": CallCost(of_args=_flattening),
    "lists.range": CallCost(of_args=lambda count: (1 if count is FAILED else max(count, 0)) + _ALLOCATION),
    "in_list": CallCost(of_args=lambda _, items: size_of(items)),
    "matches_string": _MATCHING,
    "contains_string": CallCost(of_args=lambda a, b: _tenth(size_of(a)) * _tenth(size_of(b))),
    "bytes_to_string": _READING,
    "sets.contains": CallCost(of_args=lambda a, b: 1 + size_of(a) * size_of(b)),
    "sets.intersects": CallCost(of_args=lambda a, b: 1 + size_of(a) * size_of(b)),
    "sets.equivalent": CallCost(of_args=lambda a, b: 1 + 2 * size_of(a) * size_of(b)),
}


def call_cost(function: str, overloads: list[Overload], types: list[CelType]) -> CallCost:
    """The cost of a call by its function, and by its overload where there is only one that the types allow."""
    if function in ("_==_", "_!=_") and all(type_.kind in _SCALARS for type_ in types):
        return _ONE
    if function == "ip":
        return _READING if types[0].kind != "opaque" else _ONE
    if function in ("containsIP", "containsCIDR"):
        return _containment(function, parses=len(overloads) == 1 and overloads[0].params[1].kind == "string")
    if function in _BY_FUNCTION:
        return _BY_FUNCTION[function]
    if len(overloads) != 1:
        return _ONE
    if function == "bytes" and overloads[0].params[0].kind == "string":
        return _READING
    return _BY_ONLY_OVERLOAD.get(overloads[0].id) or _BY_ONLY_OVERLOAD.get(function) or _ONE
