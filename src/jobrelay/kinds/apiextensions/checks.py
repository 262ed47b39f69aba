"""Validates values against schemas, with the real server's error texts and order of errors.

The server validates with go-openapi's validator, whose texts (`spec.size in body must be of type integer: "string"`),
whose choice of which alternative of an anyOf to complain about (the one with most passed checks) and whose order of
checks are visible to clients. No JSON Schema library for Python produces the same texts, so this is a validator of our
own: each node of the schema is compiled on first use to a list of closures, and an outcome carries the number of passed
checks beside the errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from jobrelay.apimachinery import field
from jobrelay.apimachinery.field import FieldError, Path, go_quote
from jobrelay.apimachinery.formats import format_check
from jobrelay.apimachinery.regex import RegexError, compile_go
from jobrelay.kinds.apiextensions.ratchet import CorrelatedObject
from jobrelay.kinds.apiextensions.structural import Schema, StructuralSchema

_MAX_JSON_INTEGER: Final = float(2**53 - 1)
_EPSILON: Final = 1e-9


class Problem(NamedTuple):
    """What is wrong with one value: its kind, the name in the text, the text, and the value shown."""

    kind: str
    name: str
    message: str
    value: Any = ""
    limit: int = 0
    supported: tuple[str, ...] = ()


Outcome = tuple[list[Problem], int]
Check = Callable[[Any, str, CorrelatedObject | None], Outcome]


def validate(
    node: StructuralSchema, value: Any, path: Path, correlated: CorrelatedObject | None = None
) -> list[FieldError]:
    """The field errors of a value below `path`; with `correlated`, errors of unchanged values are ignored."""
    problems, _ = run(node, value, "", correlated)
    unique = {problem.message: problem for problem in reversed(problems)}
    return [field_error(problem, path) for problem in reversed(unique.values())]


def field_error(problem: Problem, path: Path) -> FieldError:
    name = problem.name.removeprefix(".")
    where = path.child(name) if name else path
    if problem.kind == "required":
        return field.required(where)
    if problem.kind == "enum":
        return field.not_supported(where, problem.value, problem.supported)
    if problem.kind == "too long":
        return field.too_long(where, problem.limit)
    if problem.kind == "too many":
        return field.too_many(where, problem.value, problem.limit)
    if problem.kind == "type":
        return field.type_invalid(where, problem.value, problem.message)
    return field.invalid(where, problem.value, problem.message)


def run(node: StructuralSchema, value: Any, name: str, correlated: CorrelatedObject | None) -> Outcome:
    problems, passed = _run(node, value, name, correlated)
    if problems and correlated is not None and correlated.unchanged():
        return [], passed
    return problems, passed


def _run(node: StructuralSchema, value: Any, name: str, correlated: CorrelatedObject | None) -> Outcome:
    plan = node.checks
    if plan is None:
        plan = node.checks = _CompiledSchema(node)
    if value is None:
        nothing: Outcome = plan.null(name)
        return nothing
    problems: list[Problem] = []
    passed = 1
    for check in plan.checks(_kind(value)):
        more, count = check(value, name, correlated)
        problems += more
        passed += count + 1
    return problems, passed


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    return "array" if isinstance(value, list) else "object"


class _CompiledSchema:
    """The checks of one node, by the kind of value, made when first needed."""

    __slots__ = ("_by_kind", "format", "node", "types")

    def __init__(self, node: StructuralSchema) -> None:
        schema = node.schema
        self.node = node
        self.types: tuple[str, ...] = (schema["type"],) if schema.get("type") else ()
        if schema.get("x-kubernetes-int-or-string"):
            self.types = ("integer", "string")
        name = schema.get("format", "")
        self.format: str = name if name and format_check(name) else ""
        self._by_kind: dict[str, list[Check]] = {}

    def checks(self, kind: str) -> list[Check]:
        made = self._by_kind.get(kind)
        if made is None:
            made = self._by_kind[kind] = self._make(kind)
        return made

    def _make(self, kind: str) -> list[Check]:
        schema = self.node.schema
        made: list[Check] = []
        if self.types or self.format:
            made.append(_type_check(self.types, self.format, kind))
        made.append(_junctors(schema))
        if kind == "string":
            made.append(_string_check(schema))
            if self.format:
                made.append(_format_check(self.format))
        elif kind in ("integer", "number"):
            made.append(_number_check(schema))
        elif kind == "array":
            made.append(_array_check(self.node))
        made.append(_enum_check(schema))
        if kind == "object":
            made.append(_object_check(self.node))
        return made

    def null(self, name: str) -> Outcome:
        problems: list[Problem] = []
        if self.types and not self.node.nullable:
            problems.append(_wrong_type(name, ",".join(self.types), "null"))
        enum = _enum_check(self.node.schema)(None, name, None)
        return problems + enum[0], 0 if problems else 1


def _wrong_type(name: str, wanted: str, got: str) -> Problem:
    return Problem("type", name, f"{name} in body must be of type {wanted}: {go_quote(got)}", got)


def _type_check(types: tuple[str, ...], format_: str, kind: str) -> Check:
    wanted, textual = ",".join(types), kind in ("string", "array")
    go_format = {"integer": "int64", "number": "float64"}.get(kind, "")

    def check(value: Any, name: str, correlated: CorrelatedObject | None) -> Outcome:
        whole = kind == "number" and "integer" in types and is_whole(value)
        fits = kind in types or whole or (kind == "integer" and "number" in types)
        if not textual and format_ and not fits:
            return [_wrong_type(name, format_, go_format)], 0
        if textual and format_ and "number" not in types and "integer" not in types:
            return [], 1
        return ([], 1) if fits else ([_wrong_type(name, wanted, kind)], 0)

    return check


def is_whole(value: float) -> bool:
    """Whether a float counts as an integer: within a billionth, and exactly representable."""
    if math.isnan(value) or abs(value) > _MAX_JSON_INTEGER:
        return False
    whole = float(int(value))
    return value == whole or (whole != 0 and abs(value - whole) / (abs(value) + abs(whole)) < _EPSILON)


def _string_check(schema: Schema) -> Check:
    longest, shortest, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern", "")

    def check(value: Any, name: str, correlated: CorrelatedObject | None) -> Outcome:
        if longest is not None and len(value) > longest:
            message = f"{name} in body should be at most {longest} chars long"
            return [Problem("too long", name, message, value, longest)], 0
        if shortest is not None and len(value) < shortest:
            return [Problem("invalid", name, f"{name} in body should be at least {shortest} chars long", value)], 0
        if pattern and (wrong := _pattern_problem(pattern, value)):
            return [Problem("invalid", name, f"{name} in body should match '{wrong}'", value)], 0
        return [], 0

    return check


def _pattern_problem(pattern: str, value: str) -> str:
    try:
        return "" if compile_go(pattern).search(value) else pattern
    except RegexError as error:
        return f"{pattern}, but pattern is invalid: {error}"


def _format_check(format_: str) -> Check:
    matches = format_check(format_)
    assert matches is not None

    def check(value: Any, name: str, correlated: CorrelatedObject | None) -> Outcome:
        return ([], 0) if matches(value) else ([_wrong_type(name, format_, value)], 0)

    return check


def go_number(value: float) -> str:
    """A number as Go's %v prints a float64."""
    if float(value).is_integer() and abs(value) < 1e21:
        return str(int(value))
    text = repr(float(value))
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}e{exponent[0]}{exponent[1:].rjust(2, '0')}" if e else text


def _number_check(schema: Schema) -> Check:
    multiple, low, high = schema.get("multipleOf"), schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum", False), schema.get("exclusiveMaximum", False)

    def check(value: Any, name: str, correlated: CorrelatedObject | None) -> Outcome:
        problems: list[Problem] = []

        def bound(limit: float) -> float:
            return int(limit) if isinstance(value, int) else float(limit)

        def wrong(text: str) -> None:
            problems.append(Problem("invalid", name, f"{name} in body should be {text}", value))

        if multiple is not None:
            problems.extend(_multiple_problem(name, value, bound(multiple)))
        if low is not None and (value < bound(low) or (above and value == bound(low))):
            wrong(f"greater than {'' if above else 'or equal to '}{go_number(bound(low))}")
        if high is not None and (value > bound(high) or (below and value == bound(high))):
            wrong(f"less than {'' if below else 'or equal to '}{go_number(bound(high))}")
        return problems, 1

    return check


def _multiple_problem(name: str, value: float, factor: float) -> list[Problem]:
    shown = go_number(factor)
    if factor <= 0:
        return [Problem("invalid", name, f"factor MultipleOf declared for {name} must be positive: {shown}", factor)]
    fits = (
        value % factor == 0
        if isinstance(value, int)
        else is_whole(1 / factor * value if factor < 1 else value / factor)
    )
    return [] if fits else [Problem("invalid", name, f"{name} in body should be a multiple of {shown}", value)]


def _array_check(node: StructuralSchema) -> Check:
    schema, items = node.schema, node.items
    fewest, most, unique = schema.get("minItems"), schema.get("maxItems"), schema.get("uniqueItems")

    def check(value: Any, name: str, correlated: CorrelatedObject | None) -> Outcome:
        problems: list[Problem] = []
        passed = 1
        if items is not None:
            for index, item in enumerate(value):
                pair = correlated.index(index) if correlated is not None else None
                more, count = run(items, item, f"{name}[{index}]", pair)
                problems += more
                passed += count
        size = len(value)
        if fewest is not None and size < fewest:
            problems.append(Problem("invalid", name, f"{name} in body should have at least {fewest} items", size))
        if most is not None and size > most:
            problems.append(Problem("too many", name, f"{name} in body should have at most {most} items", size, most))
        if unique and any(item in value[:index] for index, item in enumerate(value)):
            problems.append(Problem("invalid", name, f"{name} in body shouldn't contain duplicates"))
        return problems, passed

    return check


def _enum_check(schema: Schema) -> Check:
    allowed = schema.get("enum") or []
    shown = tuple(v if isinstance(v, str) else field.go_value(v) for v in allowed)

    def check(value: Any, name: str, correlated: CorrelatedObject | None) -> Outcome:
        if not allowed or any(_enum_equal(value, choice) for choice in allowed):
            return [], 0
        return [Problem("enum", name, f"{name} in body should be one of {shown}", value, 0, shown)], 0

    return check


def _enum_equal(value: Any, choice: Any) -> bool:
    """Numbers are converted to the choice's type first, as Go's reflection does."""
    if isinstance(value, bool) or isinstance(choice, bool) or value is None or choice is None:
        return value is choice and value is not None
    if isinstance(value, float) and isinstance(choice, int):
        return int(value) == choice
    return (type(value) is type(choice) and bool(value == choice)) or (isinstance(choice, float) and value == choice)


def _object_check(node: StructuralSchema) -> Check:
    schema = node.schema
    fewest, most, required = schema.get("minProperties"), schema.get("maxProperties"), schema.get("required") or ()
    closed = schema.get("additionalProperties") is False

    def check(value: Any, name: str, correlated: CorrelatedObject | None) -> Outcome:
        problems: list[Problem] = []
        passed, size = 0, len(value)
        if fewest is not None and size < fewest:
            problems.append(Problem("invalid", name, f"{name} in body should have at least {fewest} properties", size))
        if most is not None and size > most:
            problems.append(
                Problem("too many", name, f"{name} in body should have at most {most} properties", size, most)
            )
        for key, item in value.items():
            child = node.named(key)
            where = f"{name}.{key}" if name or child is None else key
            if child is None:
                child = node.values
                if closed:
                    problems.append(Problem("invalid", name, f"{where} in body is a forbidden property", key))
            if child is None:
                continue
            pair = correlated.key(key) if correlated is not None and (name or key not in _TYPE_META) else None
            more, count = run(child, item, where, pair)
            problems += more
            passed += count
        for key in required:
            if key not in value:
                problems.append(Problem("required", f"{name}.{key}", f"{name}.{key} in body is required"))
        return problems, passed

    return check


_TYPE_META: Final = frozenset({"kind", "apiVersion"})


def _junctors(schema: Schema) -> Check:
    any_of = [StructuralSchema(s) for s in schema.get("anyOf") or ()]
    one_of = [StructuralSchema(s) for s in schema.get("oneOf") or ()]
    all_of = [StructuralSchema(s) for s in schema.get("allOf") or ()]
    none_of = StructuralSchema(schema["not"]) if isinstance(schema.get("not"), dict) else None
    if not any_of and not one_of and not all_of and none_of is None:
        return lambda value, name, correlated: ([], 1)

    def check(value: Any, name: str, correlated: CorrelatedObject | None) -> Outcome:
        problems: list[Problem] = []
        passed = 1
        for more, count in (
            _any_of(any_of, value, name, correlated),
            _one_of(one_of, value, name, correlated),
            _all_of(all_of, value, name, correlated),
        ):
            problems += more
            passed += count
        if none_of is not None and not _run(none_of, value, name, correlated)[0]:
            problems.append(_general(f"{go_quote(name)} must not validate the schema (not)"))
        return problems, passed

    return check


def _general(message: str) -> Problem:
    """An error of the whole value: the server reports no field."""
    return Problem("invalid", "", message)


def _best(failures: list[Outcome]) -> Outcome:
    return max(failures, key=lambda outcome: outcome[1])


def _any_of(nodes: list[StructuralSchema], value: Any, name: str, correlated: CorrelatedObject | None) -> Outcome:
    failures: list[Outcome] = []
    for node in nodes:
        outcome = _run(node, value, name, correlated)
        if not outcome[0]:
            return outcome
        failures.append(outcome)
    if not failures:
        return [], 0
    problems, passed = _best(failures)
    return [_general(f"{go_quote(name)} must validate at least one schema (anyOf)"), *problems], passed


def _one_of(nodes: list[StructuralSchema], value: Any, name: str, correlated: CorrelatedObject | None) -> Outcome:
    outcomes = [_run(node, value, name, correlated) for node in nodes]
    valid = [outcome for outcome in outcomes if not outcome[0]]
    if not nodes or len(valid) == 1:
        return valid[0] if valid else ([], 0)
    text = f"{go_quote(name)} must validate one and only one schema (oneOf). "
    if valid:
        return [_general(f"{text}Found {len(valid)} valid alternatives")], 0
    problems, passed = _best(outcomes)
    return [_general(f"{text}Found none valid"), *problems], passed


def _all_of(nodes: list[StructuralSchema], value: Any, name: str, correlated: CorrelatedObject | None) -> Outcome:
    problems: list[Problem] = []
    passed = failed = 0
    for node in nodes:
        more, count = _run(node, value, name, correlated)
        problems += more
        passed += count
        failed += bool(more)
    if failed:
        none = ". None validated" if failed == len(nodes) else ""
        problems.append(_general(f"{go_quote(name)} must validate all the schemas (allOf){none}"))
    return problems, passed
