"""Functions on strings and lists: CEL's extensions for both, sets, and Kubernetes' lists and regular expressions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from jobrelay.apimachinery.cel.format import format_text, quoted
from jobrelay.apimachinery.cel.functions import declare
from jobrelay.apimachinery.cel.values import CelError, Duration, Uint, checked_int, checked_uint, compare, equal
from jobrelay.apimachinery.regex import RegexError, compile_go

_WHITE: Final = (
    "\t\n\v\f\r "
    "\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_COMPARABLE: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")


def _out_of_range(index: int) -> CelError:
    return CelError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not part:
        return start
    if start < 0:
        raise _out_of_range(start)
    return text.find(part, start)


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if not part:
        return len(text) if start is None else start
    if start is None:
        return text.rfind(part)
    if start < 0:
        raise _out_of_range(start)
    return -1 if start >= len(text) else text.rfind(part, 0, start + len(part))


def _substring(text: str, start: int, end: int | None = None) -> str:
    size = len(text)
    if end is not None and start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= size:
        raise _out_of_range(start)
    if end is not None and not 0 <= end <= size:
        raise _out_of_range(end)
    return text[start:end]


def _split(text: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if not separator:
        chars = list(text)
        return chars if count < 0 or len(chars) <= count else [*chars[: count - 1], text[count - 1 :]]
    return text.split(separator, count - 1 if count > 0 else -1)


def _lower(text: str) -> str:
    return text.lower() if text.isascii() else "".join(char.lower() if char.isascii() else char for char in text)


def _upper(text: str) -> str:
    return text.upper() if text.isascii() else "".join(char.upper() if char.isascii() else char for char in text)


def _join(items: Any, separator: str = "") -> str:
    return separator.join(items)


def _declare_strings() -> None:
    declare("charAt", "string.(int) string", _char_at)
    declare("indexOf", "string.(string) int", _index_of)
    declare("indexOf", "string.(string, int) int", _index_of)
    declare("lastIndexOf", "string.(string) int", _last_index_of)
    declare("lastIndexOf", "string.(string, int) int", _last_index_of)
    declare("lowerAscii", "string.() string", _lower)
    declare("upperAscii", "string.() string", _upper)
    declare("replace", "string.(string, string) string", lambda text, old, new: text.replace(old, new))
    declare(
        "replace", "string.(string, string, int) string", lambda text, old, new, count: text.replace(old, new, count)
    )
    declare("split", "string.(string) list(string)", _split)
    declare("split", "string.(string, int) list(string)", _split)
    declare("substring", "string.(int) string", _substring)
    declare("substring", "string.(int, int) string", _substring)
    declare("trim", "string.() string", lambda text: text.strip(_WHITE))
    declare("join", "list(string).() string", _join)
    declare("join", "list(string).(string) string", _join)
    declare("format", "string.(list(dyn)) string", format_text)
    declare("strings.quote", "(string) string", quoted)


def _compiled(pattern: str) -> Any:
    try:
        return compile_go(pattern)
    except RegexError as error:
        raise CelError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    match = _compiled(pattern).search(text)
    return match.group() if match else ""


def _find_all(text: str, pattern: str, count: int = -1) -> list[str]:
    found = [match.group() for match in _compiled(pattern).finditer(text)]
    return found if count < 0 else found[:count]


def _best(items: Any, wanted: int, name: str) -> Any:
    if len(items) == 0:
        raise CelError(f"{name} called on empty list")
    return functools.reduce(lambda best, item: item if compare(best, item) == wanted else best, items)


def _sum(zero: Any, add: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    return lambda items: functools.reduce(add, items, zero)


def _first_index(items: Any, wanted: Any) -> int:
    return next((at for at, item in enumerate(items) if equal(item, wanted)), -1)


def _last_index(items: Any, wanted: Any) -> int:
    return next((at for at in range(len(items) - 1, -1, -1) if equal(items[at], wanted)), -1)


def _is_sorted(items: Any) -> bool:
    return all(compare(items[at], items[at + 1]) <= 0 for at in range(len(items) - 1))


def _declare_kubernetes_lists() -> None:
    declare("find", "string.(string) string", _find)
    declare("findAll", "string.(string) list(string)", _find_all)
    declare("findAll", "string.(string, int) list(string)", _find_all)
    for kind in _COMPARABLE:
        declare("isSorted", f"list({kind}).() bool", _is_sorted)
        declare("max", f"list({kind}).() {kind}", lambda items: _best(items, -1, "max"))
        declare("min", f"list({kind}).() {kind}", lambda items: _best(items, 1, "min"))
    declare("sum", "list(int).() int", _sum(0, lambda a, b: checked_int(a + b)))
    declare("sum", "list(uint).() uint", _sum(Uint(0), lambda a, b: checked_uint(int(a) + int(b))))
    declare("sum", "list(double).() double", _sum(0.0, lambda a, b: a + b))
    declare("sum", "list(duration).() duration", _sum(Duration(0), lambda a, b: Duration(a.ns + b.ns)))
    declare("indexOf", "list(A).(A) int", _first_index)
    declare("lastIndexOf", "list(A).(A) int", _last_index)


def _slice(items: Any, start: int, end: int) -> list[Any]:
    where = f"cannot slice({start}, {end}), "
    if start < 0 or end < 0:
        raise CelError(where + "negative indexes not supported")
    if start > end:
        raise CelError(where + "start index must be less than or equal to end index")
    if end > len(items):
        raise CelError(f"{where}list is length {len(items)}")
    return list(items[start:end])


def _flatten(items: Any, depth: int = 1) -> list[Any]:
    if depth < 0:
        raise CelError("level must be non-negative")
    found: list[Any] = []
    for item in items:
        nested = depth > 0 and not isinstance(item, (str, bytes, dict)) and hasattr(item, "__getitem__")
        found += _flatten(item, depth - 1) if nested else [item]
    return found


def sort_by(items: Any, keys: list[Any]) -> list[Any]:
    """The items in the order of their keys."""

    def order(a: tuple[Any, Any], b: tuple[Any, Any]) -> int:
        return compare(a[0], b[0])

    return [item for _, item in sorted(zip(keys, items, strict=True), key=functools.cmp_to_key(order))]


def _distinct(items: Any) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if not any(equal(item, seen) for seen in found):
            found.append(item)
    return found


def _contains_all(items: Any, wanted: Any) -> bool:
    return all(any(equal(item, one) for item in items) for one in wanted)


def _declare_list_extensions() -> None:
    declare("slice", "list(A).(int, int) list(A)", _slice)
    declare("flatten", "list(list(A)).() list(A)", _flatten)
    declare("flatten", "list(dyn).(int) list(dyn)", _flatten)
    for kind in _COMPARABLE:
        declare("sort", f"list({kind}).() list({kind})", lambda items: sort_by(items, list(items)))
    declare("lists.range", "(int) list(int)", lambda count: list(range(count)))
    declare("reverse", "list(A).() list(A)", lambda items: list(items)[::-1])
    declare("distinct", "list(A).() list(A)", _distinct)
    declare("sets.contains", "(list(A), list(A)) bool", _contains_all, "list_sets_contains_list")
    declare(
        "sets.equivalent",
        "(list(A), list(A)) bool",
        lambda a, b: _contains_all(a, b) and _contains_all(b, a),
        "list_sets_equivalent_list",
    )
    declare(
        "sets.intersects",
        "(list(A), list(A)) bool",
        lambda a, b: any(equal(x, y) for x in a for y in b),
        "list_sets_intersects_list",
    )


def declare_functions() -> None:
    _declare_strings()
    _declare_kubernetes_lists()
    _declare_list_extensions()
