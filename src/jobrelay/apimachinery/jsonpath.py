"""JSONPath as printer columns use it: fields, indexes, slices, unions, wildcards, recursion and filters.

A path is parsed once into steps; a step maps the list of values found so far to the next list. A missing field finds
nothing; indexing something that is no list, or beyond its end, is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

Step = Callable[[list[Any]], list[Any]]
_FIELD = re.compile(r"(?:\\.|[^\s.,\[\]$@{}\\])*", re.DOTALL)
_QUOTED_KEY = re.compile(r"'([^']*)'")
_SLICE = re.compile(r"(-?\d*)(:-?\d*)?(:-?\d*)?")
_FILTER = re.compile(r"([^!<>=]+)([!<>=]+)(.+?)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?[\d.]*")
_WORD = re.compile(r"[^\s.,\[\]$@{}]+")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ORDER: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": lambda a, b: bool(a == b),
    "!=": lambda a, b: bool(a != b),
    "<": lambda a, b: bool(a < b),
    ">": lambda a, b: bool(a > b),
    "<=": lambda a, b: bool(a <= b),
    ">=": lambda a, b: bool(a >= b),
}


class PathError(ValueError):
    """A path that cannot be parsed, or that does not fit the data."""


class Path:
    """A parsed path; `find` returns everything that it leads to."""

    def __init__(self, steps: list[Step]) -> None:
        self._steps = steps

    def find(self, data: Any) -> list[Any]:
        values = [data]
        for step in self._steps:
            values = step(values)
        return values


def parse(text: str) -> Path:
    """Parses a path such as `.status.conditions[?(@.type=="Ready")].status`; raises PathError."""
    steps: list[Step] = []
    position = 0
    while position < len(text):
        position = _parse_step(text, position, steps)
    return Path(steps)


def _parse_step(text: str, position: int, steps: list[Step]) -> int:
    if text.startswith("[?(", position):
        return _parse_filter(text, position + 3, steps)
    if text.startswith("..", position):
        if steps and steps[-1] is _recursive:
            raise PathError("invalid multiple recursive descent")
        steps.append(_recursive)
        follows = text[position + 2 : position + 3]
        return _parse_field(text, position + 2, steps) if follows.isalnum() or follows == "_" else position + 2
    char = text[position]
    if char in " @$":
        return position + 1
    if char == "[":
        return _parse_array(text, position, steps)
    if char in "\"'":
        return _parse_quoted(text, position, steps)
    if char == ".":
        return _parse_field(text, position + 1, steps)
    return _parse_literal(text, position, steps)


def _parse_literal(text: str, position: int, steps: list[Step]) -> int:
    char = text[position]
    if char in "+-" or char.isdigit():
        found = _NUMBER.match(text, position)
        assert found is not None
        try:
            number = int(found.group()) if "." not in found.group() else float(found.group())
        except ValueError:
            raise PathError(f"cannot parse number {found.group()}") from None
        steps.append(_constant(number))
        return found.end()
    word = _WORD.match(text, position)
    if word is None or not (char.isalpha() or char == "_"):
        raise PathError(f"unrecognized character in action: {char!r}")
    known = word.group() in ("true", "false")
    steps.append(_constant(word.group() == "true") if known else _unknown(word.group()))
    return word.end()


def _parse_field(text: str, position: int, steps: list[Step]) -> int:
    found = _FIELD.match(text, position)
    assert found is not None
    name = found.group()
    steps.append(_children if name == "*" else _field(_ESCAPE.sub(r"\1", name)))
    return found.end()


def _parse_quoted(text: str, position: int, steps: list[Step]) -> int:
    end = position + 1
    while end < len(text) and not (text[end] == text[position] and text[end - 1] != "\\"):
        end += 1
    if end >= len(text):
        raise PathError("unterminated quoted string")
    steps.append(_constant(_ESCAPE.sub(r"\1", text[position + 1 : end])))
    return end + 1


def _parse_array(text: str, position: int, steps: list[Step]) -> int:
    end = text.find("]", position)
    if end < 0:
        raise PathError("unterminated array")
    inner = text[position + 1 : end]
    if "," in inner:
        steps.append(_union([parse(f"[{part.strip()}]") for part in inner.split(",")]))
    elif key := _QUOTED_KEY.fullmatch(inner):
        _parse_key(key.group(1), steps)
    else:
        steps.append(_parse_slice(":" if inner == "*" else inner))
    return end + 1


def _parse_key(key: str, steps: list[Step]) -> None:
    position = _parse_field("." + key, 1, steps)
    while position < len(key) + 1:
        position = _parse_step("." + key, position, steps)


def _parse_slice(text: str) -> Step:
    found = _SLICE.fullmatch(text)
    if found is None:
        raise PathError(f"invalid array index {text}")
    first, last, step = found.groups()
    try:
        start = int(first) if first else None
        if last is None:
            return _slice(start or 0, (start or 0) + 1, 1, derived=True)
        return _slice(
            start, int(last[1:]) if last[1:] else None, int(step[1:]) if step and step[1:] else 1, derived=False
        )
    except ValueError:
        raise PathError(f"array index {text} is not a number") from None


def _parse_filter(text: str, position: int, steps: list[Step]) -> int:
    end = _filter_end(text, position)
    if text[end + 1 : end + 2] != "]":
        raise PathError("unclosed array expect ]")
    body = text[position:end]
    comparison = _FILTER.fullmatch(body)
    if comparison is None:
        steps.append(_filter(parse(body), "exists", None))
    else:
        left, operator, right = comparison.groups()
        steps.append(_filter(parse(left), operator, parse(right)))
    return end + 2


def _filter_end(text: str, position: int) -> int:
    quote, closed = "", False
    for index in range(position, len(text)):
        char = text[index]
        if char in "\"'":
            if not quote:
                quote = char
            elif char == quote and text[index - 1] != "\\":
                closed = True
        elif char == ")" and bool(quote) == closed:
            return index
    raise PathError("unterminated filter")


def _constant(value: Any) -> Step:
    return lambda values: [value for _ in values]


def _unknown(name: str) -> Step:
    def fail(values: list[Any]) -> list[Any]:
        raise PathError(f"unrecognized identifier {name}")

    return fail


def _field(name: str) -> Step:
    return lambda values: [value[name] for value in values if isinstance(value, dict) and name in value]


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    return list(value) if isinstance(value, list) else []


def _children(values: list[Any]) -> list[Any]:
    return [part for value in values for part in _parts(value)]


def _recursive(values: list[Any]) -> list[Any]:
    return list(_descend(values))


def _descend(values: list[Any]) -> Iterator[Any]:
    for value in values:
        if parts := _parts(value):
            yield value
            yield from _descend(parts)


def _union(paths: list[Path]) -> Step:
    return lambda values: [found for path in paths for value in values for found in path.find(value)]


def _slice(start: int | None, stop: int | None, step: int, *, derived: bool) -> Step:
    def select(values: list[Any]) -> list[Any]:
        result: list[Any] = []
        for value in values:
            if value is None:
                continue
            if not isinstance(value, list):
                raise PathError("not an array or slice")
            first, last = _bounds(len(value), start, stop, derived)
            if first == last:
                return result
            if not (0 <= first < len(value) and 0 <= last <= len(value) and first <= last) or step <= 0:
                raise PathError("array index out of bounds")
            result += value[first:last:step]
        return result

    return select


def _bounds(length: int, start: int | None, stop: int | None, derived: bool) -> tuple[int, int]:
    first = 0 if start is None else start + length if start < 0 else start
    if stop is None:
        return first, length
    return first, stop + length if stop < 0 or (stop == 0 and derived) else stop


def _filter(left: Path, operator: str, right: Path | None) -> Step:
    def select(values: list[Any]) -> list[Any]:
        result: list[Any] = []
        for value in values:
            if not isinstance(value, list):
                raise PathError("not an array or slice and cannot be filtered")
            result += [item for item in value if _passes(item, left, operator, right)]
        return result

    return select


def _passes(item: Any, left: Path, operator: str, right: Path | None) -> bool:
    if right is None:
        try:
            return bool(left.find(item))
        except PathError:
            return False
    lefts, rights = left.find(item), right.find(item)
    if not lefts or not rights:
        return False
    if len(lefts) > 1 or len(rights) > 1:
        raise PathError("can only compare one element at a time")
    compare = _ORDER.get(operator)
    if compare is None:
        raise PathError(f"unrecognized filter operator {operator}")
    if _basic(lefts[0]) != _basic(rights[0]) or (isinstance(lefts[0], bool) and operator not in ("==", "!=")):
        raise PathError("incompatible types for comparison")
    return compare(lefts[0], rights[0])


def _basic(value: Any) -> type:
    if isinstance(value, (bool, int, float, str)):
        return type(value)
    raise PathError("invalid type for comparison")
