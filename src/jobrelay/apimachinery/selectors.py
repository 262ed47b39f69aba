"""Label and field selectors: the query strings of lists and watches, and the LabelSelector objects of specs.

A selector is a list of requirements that must all hold. The error texts of the parser are those of the real server,
since they are the message of a 400 response.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, aggregate, go_quote, invalid, not_supported
from jobrelay.apimachinery.goint import read_int
from jobrelay.apimachinery.names import is_qualified_name, is_valid_label_value

_BINARY: Final = ("in", "notin", "=", "==", "!=", "gt", "lt")
_OBJECT_OPERATORS: Final = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
_SHOWN: Final = {"=": "=", "==": "==", "!=": "!=", "in": " in ", "notin": " notin ", "gt": ">", "lt": "<"}
_FROM_TOKEN: Final = {"in": "in", "notin": "notin", "=": "=", "==": "==", "!=": "!=", ">": "gt", "<": "lt"}
_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^=!(),<> \t\r\n]+)|\Z)")
_INTEGER = re.compile(r"[+-]?[0-9]+")
END: Final = ""


class SelectorError(ValueError):
    """A selector that cannot be understood; its message is the server's."""


class Requirement:
    """One condition on one label."""

    __slots__ = ("key", "operator", "values")

    def __init__(self, key: str, operator: str, values: Sequence[str] = ()) -> None:
        self.key, self.operator, self.values = key, operator, tuple(values)

    def matches(self, labels: Mapping[str, str]) -> bool:
        value, operator = labels.get(self.key), self.operator
        if operator in ("=", "==", "in"):
            return value in self.values
        if operator in ("!=", "notin"):
            return value is None or value not in self.values
        if operator == "exists":
            return value is not None
        if operator == "!":
            return value is None
        if value is None or not _INTEGER.fullmatch(value):
            return False
        return int(value) > int(self.values[0]) if operator == "gt" else int(value) < int(self.values[0])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Requirement) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def _parts(self) -> tuple[str, str, tuple[str, ...]]:
        return self.key, self.operator, self.values

    def __str__(self) -> str:
        if self.operator == "exists":
            return self.key
        if self.operator == "!":
            return f"!{self.key}"
        values = ",".join(sorted(self.values))
        if self.operator in ("in", "notin"):
            values = f"({values})"
        return f"{self.key}{_SHOWN[self.operator]}{values}"


class Selector:
    """Requirements that must all hold; `nothing`: an absent LabelSelector, which matches no object."""

    __slots__ = ("nothing", "requirements")

    def __init__(self, requirements: Sequence[Requirement] = (), *, nothing: bool = False) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda r: r.key))
        self.nothing = nothing

    @property
    def empty(self) -> bool:
        """Whether it selects everything."""
        return not self.requirements and not self.nothing

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        if self.nothing:
            return False
        present = labels or {}
        return all(requirement.matches(present) for requirement in self.requirements)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Selector) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def _parts(self) -> tuple[tuple[Requirement, ...], bool]:
        return self.requirements, self.nothing

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def _value_count_error(operator: str, values: Sequence[str], path: Path) -> list[FieldError]:
    if operator in ("in", "notin") and not values:
        return [invalid(path, list(values), "for 'in', 'notin' operators, values set can't be empty")]
    if operator in ("=", "==", "!=") and len(values) != 1:
        return [invalid(path, list(values), "exact-match compatibility requires one single value")]
    if operator in ("exists", "!") and values:
        return [invalid(path, list(values), "values set must be empty for exists and does not exist")]
    if operator not in ("gt", "lt"):
        return []
    errors = []
    if len(values) != 1:
        errors.append(invalid(path, list(values), "for 'Gt', 'Lt' operators, exactly one value is required"))
    for i, value in enumerate(values):
        if not _INTEGER.fullmatch(value) or not -(2**63) <= read_int(value) < 2**63:
            errors.append(invalid(path.index(i), value, "for 'Gt', 'Lt' operators, the value must be an integer"))
    return errors


def new_requirement(key: str, operator: str, values: Sequence[str]) -> Requirement:
    """A checked requirement; `operator` is one of in, notin, =, ==, !=, gt, lt, exists, !."""
    path = Path()
    errors: list[FieldError] = []
    if texts := is_qualified_name(key):
        errors.append(invalid(path.child("key"), key, "; ".join(texts)))
    if operator in _BINARY or operator in ("exists", "!"):
        errors += _value_count_error(operator, values, path.child("values"))
    else:
        errors.append(not_supported(path.child("operator"), operator, [*_BINARY, "exists", "!"]))
    for i, value in enumerate(values):
        if texts := is_valid_label_value(value):
            errors.append(invalid(path.child("values").index(i).key(key), value, "; ".join(texts)))
    if errors:
        raise SelectorError(aggregate(errors))
    return Requirement(key, operator, values)


def selector_from_object(selector: Mapping[str, Any] | None) -> Selector:
    """The selector that a LabelSelector means: none matches nothing, an empty one everything."""
    if selector is None:
        return Selector(nothing=True)
    requirements = [new_requirement(k, "=", [v]) for k, v in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        operator = expression.get("operator", "")
        if operator not in _OBJECT_OPERATORS:
            raise SelectorError(f"{go_quote(operator)} is not a valid label selector operator")
        requirements.append(
            new_requirement(expression.get("key", ""), _OBJECT_OPERATORS[operator], expression.get("values") or [])
        )
    return Selector(requirements)


def selector_from_labels(labels: Mapping[str, str] | None) -> Selector:
    """The selector of a plain map (`spec.selector` of Services and ReplicationControllers)."""
    return Selector([Requirement(key, "=", [value]) for key, value in (labels or {}).items()])


@functools.lru_cache(1024)
def parse_label_selector(text: str) -> Selector:
    return Selector(_SelectorParser(text).selector()) if text else Selector()


class _SelectorParser:
    """A reader of tokens with one token of look-ahead. `in` and `notin` are names where a name is expected."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[bool, str]] = []
        position = 0
        while match := _TOKEN.match(text, position):
            symbol, word = match.groups()
            self._tokens.append((word is not None, symbol or word or END))
            if symbol is None and word is None:
                break
            position = match.end()
        self._next = 0

    def _peek(self) -> tuple[bool, str]:
        return self._tokens[self._next]

    def _take(self) -> tuple[bool, str]:
        self._next += 1
        return self._tokens[self._next - 1]

    def selector(self) -> list[Requirement]:
        found: list[Requirement] = []
        while True:
            is_word, literal = self._peek()
            if literal == END:
                return found
            if not is_word and literal != "!":
                raise SelectorError(f"found '{literal}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            literal = self._take()[1]
            if literal == END:
                return found
            if literal != ",":
                raise SelectorError(f"found '{literal}', expected: ',' or 'end of string'")
            is_word, literal = self._peek()
            if not is_word and literal != "!":
                raise SelectorError(f"found '{literal}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        is_word, key = self._take()
        absent = not is_word and key == "!"
        if absent:
            is_word, key = self._take()
        if not is_word:
            raise SelectorError(f"found '{key}', expected: identifier")
        if texts := is_qualified_name(key):
            raise SelectorError(invalid(Path(), key, "; ".join(texts)).text())
        if absent:
            return new_requirement(key, "!", [])
        if self._peek()[1] in (END, ","):
            return new_requirement(key, "exists", [])
        literal = self._take()[1]
        if literal not in _FROM_TOKEN:
            raise SelectorError(f"found '{literal}', expected: {', '.join(_BINARY)}")
        operator = _FROM_TOKEN[literal]
        values = self._values() if operator in ("in", "notin") else {self._exact_value()}
        return new_requirement(key, operator, sorted(values))

    def _exact_value(self) -> str:
        if self._peek() in ((False, END), (False, ",")):
            return ""
        is_word, literal = self._take()
        if not is_word:
            raise SelectorError(f"found '{literal}', expected: identifier")
        return literal

    def _values(self) -> set[str]:
        is_word, literal = self._take()
        if is_word or literal != "(":
            raise SelectorError(f"found '{literal}' expected: '('")
        is_word, literal = self._peek()
        if not is_word and literal == ")":
            self._take()
            return {""}
        if not is_word and literal != ",":
            raise SelectorError(f"found '{literal}', expected: ',', ')' or identifier")
        values = self._value_list()
        self._take()
        return values

    def _value_list(self) -> set[str]:
        """Values up to the closing parenthesis, which stays; nothing between commas is the empty value."""
        values: set[str] = set()
        while True:
            is_word, literal = self._take()
            following = self._peek() if literal != END else (False, END)
            if is_word:
                values.add(literal)
                if following == (False, ")"):
                    return values
                if following != (False, ","):
                    raise SelectorError(f"found '{following[1]}', expected: ',' or ')'")
            elif literal == ",":
                if not values or following in ((False, ")"), (False, ",")):
                    values.add("")
                if following == (False, ")"):
                    return values
            else:
                raise SelectorError(f"found '{literal}', expected: ',', or identifier")


_TERM = re.compile(r"(?:\\.|[^,\\]|\\\Z)+", re.DOTALL)
_FIELD_OPERATOR = re.compile("!=|==|=")


def parse_field_selector(text: str) -> list[tuple[str, str, str]]:
    """The terms of a field selector as (label, "=" or "!=", value)."""
    found = []
    for term in sorted(_TERM.findall(text)):
        match = _FIELD_OPERATOR.search(term)
        if match is None:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{term}'")
        operator = "!=" if match.group() == "!=" else "="
        found.append((term[: match.start()], operator, _unescape(term[match.end() :])))
    return found


def _unescape(value: str) -> str:
    if not any(char in value for char in "\\,="):
        return value
    out, escaped = [], False
    for char in value:
        if escaped:
            if char not in "\\,=":
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{char}")
            out.append(char)
            escaped = False
        elif char == "\\":
            escaped = True
        elif char in ",=":
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            out.append(char)
    if escaped:
        raise SelectorError("invalid field selector: invalid escape sequence: \\")
    return "".join(out)
