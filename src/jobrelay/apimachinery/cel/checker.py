"""Type checking: finds the type of every node and the overloads of every call, and reports errors.

Errors do not stop the check: a wrong node has the type `error`, which is compatible with every type, so that all errors
of a rule are reported at once and each only once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from jobrelay.apimachinery.cel import authorization, kubernetes, standard, texts, types
from jobrelay.apimachinery.cel.format import clause_count
from jobrelay.apimachinery.cel.functions import FUNCTIONS, Overload
from jobrelay.apimachinery.cel.syntax import (
    NOWHERE,
    TOO_DEEP,
    Call,
    CelSyntaxError,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    Macro,
    MapLiteral,
    Select,
    parse,
    render,
)
from jobrelay.apimachinery.cel.types import BOOL, DYN, ERROR, INT, Bindings, CelType, list_of, map_of, optional_of
from jobrelay.apimachinery.cel.values import CelError, Uint

standard.declare_functions()
texts.declare_functions()
authorization.declare_functions()
kubernetes.declare_functions()

_LITERAL_ARGUMENTS: Final[dict[str, Callable[[str], Any]]] = {
    "matches": lambda pattern: standard.matches("", pattern),
    "duration": standard.parse_duration,
    "timestamp": standard.parse_timestamp,
}
_TYPE_NAMES: Final = ("bool", "int", "uint", "double", "string", "bytes", "list", "map", "type")
_LITERALS: Final[dict[type, CelType]] = {
    bool: BOOL, int: INT, Uint: types.UINT, float: types.DOUBLE, str: types.STRING, bytes: types.BYTES,
    type(None): types.NULL,
}  # fmt: skip


class CompileError(ValueError):
    """An expression that is refused; the text is the engine's, with the line and a caret for each mistake."""


@dataclass(slots=True)
class Checked:
    """A checked expression: the type of every node and the overloads of every call, by the node's id()."""

    expr: Expr
    result: CelType
    types: dict[int, CelType]
    overloads: dict[int, list[Overload]]
    variables: set[str] = field(default_factory=set)


def compile_expression(source: str, variables: Mapping[str, CelType]) -> Checked:
    """Parses and checks an expression; raises CompileError."""
    checker = _Checker(variables)
    try:
        checked = checker.run(parse(source))
    except CelSyntaxError as error:
        raise CompileError(render(source, error.issues)) from None
    except RecursionError:
        raise CompileError(render(source, [(NOWHERE, TOO_DEEP)])) from None
    if checker.issues:
        raise CompileError(render(source, list(checker.issues)))
    return checked


class _Checker:
    def __init__(self, variables: Mapping[str, CelType]) -> None:
        self.scopes: list[Mapping[str, CelType]] = [variables]
        self.types: dict[int, CelType] = {}
        self.overloads: dict[int, list[Overload]] = {}
        self.bindings = Bindings()
        self.issues: dict[tuple[int, str], None] = {}
        self.used: set[str] = set()
        self.lists: list[ListLiteral | MapLiteral] = []
        self.literal_calls: list[Call] = []
        self.late: list[tuple[int, str]] = []
        self.free = 0

    def run(self, expr: Expr) -> Checked:
        self._check(expr)
        final = {key: self.bindings.resolve(type_, free_is_dyn=True) for key, type_ in self.types.items()}
        if not self.issues:
            self._validate_literals(final)
        return Checked(expr, final[id(expr)], final, self.overloads, self.used)

    def _issue(self, at: int, message: str) -> CelType:
        self.issues.setdefault((at, message))
        return ERROR

    def _check(self, expr: Expr) -> CelType:
        made = self.types[id(expr)] = _TYPES[type(expr)](self, expr)
        return made

    def _fresh(self) -> CelType:
        self.free += 1
        return CelType("param", f"_var{self.free}")

    def _shown(self, type_: CelType) -> str:
        return str(self.bindings.resolve(type_, free_is_dyn=True))

    def _lookup(self, name: str) -> CelType | None:
        for depth in range(len(self.scopes) - 1, -1, -1):
            if name in self.scopes[depth]:
                if depth == 0:
                    self.used.add(name)
                return self.scopes[depth][name]
        return None

    def _identifier(self, expr: Ident) -> CelType:
        found = self._lookup(expr.name)
        if found is not None:
            return found
        if expr.name in _TYPE_NAMES:
            return types.type_of_type(types.read_type(expr.name))
        if expr.name in ("null_type", "dyn", "optional_type"):
            return types.type_of_type(DYN)
        return self._issue(expr.at, f"undeclared reference to '{expr.name}' (in container '')")

    def _select(self, expr: Select) -> CelType:
        if (name := qualified(expr)) in ("google.protobuf.Timestamp", "google.protobuf.Duration"):
            return types.type_of_type(types.TIMESTAMP if name.endswith("Timestamp") else types.DURATION)
        if name and (declared := self._lookup(name)) is not None:
            return declared
        operand = self.bindings.resolve(self._check(expr.operand))
        found = self._field(expr, operand)
        if expr.test:
            return BOOL
        return optional_of(found) if expr.optional and found.kind != "optional" else found

    def _field(self, expr: Select, operand: CelType) -> CelType:
        if operand.kind == "optional":
            inner = self._field(expr, self.bindings.resolve(operand.params[0]))
            return inner if inner.kind in ("error", "optional") else optional_of(inner)
        if operand.kind == "object":
            found = operand.fields.get(expr.field)
            return found if found is not None else self._issue(expr.at, f"undefined field '{expr.field}'")
        if operand.kind == "map":
            return operand.params[1]
        if operand.kind in ("dyn", "error", "param"):
            return DYN if operand.kind != "error" else ERROR
        return self._issue(expr.at, f"type '{self._shown(operand)}' does not support field selection")

    def _call(self, expr: Call) -> CelType:
        if expr.target is not None and (prefix := qualified(expr.target)) and f"{prefix}.{expr.function}" in FUNCTIONS:
            expr.function, expr.target = f"{prefix}.{expr.function}", None
        if expr.function in ("_&&_", "_||_"):
            return self._logical(expr)
        nodes = ([expr.target] if expr.target is not None else []) + expr.args
        args = [self._check(node) for node in nodes]
        if expr.function == "_?_:_":
            return self._conditional(expr, args)
        overloads = FUNCTIONS.get(expr.function)
        if overloads is None:
            return self._issue(expr.at, f"undeclared reference to '{expr.function}' (in container '')")
        return self._resolve(expr, overloads, args)

    def _logical(self, expr: Call) -> CelType:
        for arg in expr.args:
            self._require_bool(arg)
        return BOOL

    def _require_bool(self, expr: Expr) -> None:
        found = self._check(expr)
        if not self.bindings.assignable([(found, BOOL)]):
            self._issue(expr.at, f"expected type 'bool' but found '{self._shown(found)}'")

    def _conditional(self, expr: Call, args: list[CelType]) -> CelType:
        result = self._fresh()
        if self.bindings.assignable([(args[0], BOOL), (args[1], result), (args[2], result)]):
            return self.bindings.resolve(result)
        return self._no_overload(expr, args)

    def _resolve(self, expr: Call, overloads: list[Overload], args: list[CelType]) -> CelType:
        result: CelType | None = None
        matching: list[Overload] = []
        for overload in overloads:
            if overload.method != (expr.target is not None) or len(overload.params) != len(args):
                continue
            renamed = {name: self._fresh() for name in "ABC"}
            wanted = [_rename(param, renamed) for param in overload.params]
            if not self.bindings.assignable(list(zip(args, wanted, strict=True))):
                continue
            matching.append(overload)
            made = self.bindings.resolve(_rename(overload.result, renamed))
            result = made if result is None or result.same(made) else DYN
        if result is None:
            return self._no_overload(expr, args)
        self.overloads[id(expr)] = matching
        if expr.function in _LITERAL_ARGUMENTS:
            self.literal_calls.append(expr)
        if expr.function == "format" and self.lists and self.lists[-1] is expr.args[0]:
            self._check_template(expr, self.lists.pop())
        return result

    def _check_template(self, expr: Call, args: ListLiteral | MapLiteral) -> None:
        if isinstance(expr.target, Literal) and isinstance(args, ListLiteral):
            wanted, given = clause_count(expr.target.value), len(args.items)
            if given > wanted:
                message = f"too many arguments supplied to string.format (expected {wanted}, got {given})"
                self.late.append((expr.at, message))

    def _no_overload(self, expr: Call, args: list[CelType]) -> CelType:
        shown = [self._shown(arg) for arg in args]
        applied = f"{shown[0]}.({', '.join(shown[1:])})" if expr.target is not None else f"({', '.join(shown)})"
        return self._issue(expr.at, f"found no matching overload for '{expr.function}' applied to '{applied}'")

    def _list(self, expr: ListLiteral) -> CelType:
        elem: CelType | None = None
        for index, item in enumerate(expr.items):
            found = self._check(item)
            if index in expr.optional:
                found = self._unwrapped(item, found)
            elem = found if elem is None else self._joined(elem, found)
        self.lists.append(expr)
        return list_of(elem if elem is not None else self._fresh())

    def _unwrapped(self, expr: Expr, found: CelType) -> CelType:
        found = self.bindings.resolve(found)
        if found.kind == "optional":
            return found.params[0]
        if found.kind in ("dyn", "error"):
            return DYN
        return self._issue(expr.at, f"expected type 'optional_type({found})' but found '{found}'")

    def _joined(self, a: CelType, b: CelType) -> CelType:
        wanted = self._fresh()
        if self.bindings.assignable([(a, wanted), (b, wanted)]):
            return self.bindings.resolve(wanted)
        return DYN

    def _map(self, expr: MapLiteral) -> CelType:
        key: CelType | None = None
        value: CelType | None = None
        for index, (key_expr, value_expr) in enumerate(expr.entries):
            found_key, found = self._check(key_expr), self._check(value_expr)
            if index in expr.optional:
                found = self._unwrapped(value_expr, found)
            key = found_key if key is None else self._joined(key, found_key)
            value = found if value is None else self._joined(value, found)
        self.lists.append(expr)
        return map_of(key if key is not None else self._fresh(), value if value is not None else self._fresh())

    def _macro(self, expr: Macro) -> CelType:
        found = self.bindings.resolve(self._check(expr.range))
        if expr.name in ("optMap", "optFlatMap"):
            return self._unwrapping_macro(expr, found)
        variables = self._loop_variables(expr, found)
        self.scopes.append(dict(zip(expr.variables, variables, strict=True)))
        try:
            return self._loop(expr, found)
        finally:
            self.scopes.pop()

    def _unwrapping_macro(self, expr: Macro, found: CelType) -> CelType:
        inner = found.params[0] if found.kind == "optional" else DYN
        if found.kind not in ("optional", "dyn", "error"):
            message = f"found no matching overload for 'hasValue' applied to '{self._shown(found)}.()'"
            return self._issue(expr.at, message)
        self.scopes.append({expr.variables[0]: inner})
        result = self._check(expr.args[0])
        self.scopes.pop()
        return optional_of(result) if expr.name == "optMap" else result

    def _loop_variables(self, expr: Macro, found: CelType) -> list[CelType]:
        pair = len(expr.variables) == 2
        if found.kind == "list":
            return [INT, found.params[0]] if pair else [found.params[0]]
        if found.kind == "map":
            return list(found.params) if pair else [found.params[0]]
        if found.kind not in ("dyn", "error", "param"):
            message = "cannot be range of a comprehension (must be list, map, or dynamic)"
            self._issue(expr.range.at, f"expression of type '{self._shown(found)}' {message}")
            return [ERROR] * len(expr.variables)
        return [DYN] * len(expr.variables)

    def _loop(self, expr: Macro, found: CelType) -> CelType:
        if expr.name in ("all", "exists"):
            self._require_bool(expr.args[0])
            return BOOL
        if expr.name in ("exists_one", "existsOne"):
            self._require_test(expr, expr.args[0], INT)
            return BOOL
        if expr.name == "filter":
            result = list_of(self.scopes[-1][expr.variables[0]])
            self._require_test(expr, expr.args[0], result)
            return result
        if expr.name == "sortBy":
            self._check(expr.args[0])
            return found
        value = self._check(expr.args[-1])
        made = (
            list_of(value)
            if expr.name in ("map", "transformList")
            else map_of(self.scopes[-1][expr.variables[0]], value)
        )
        if len(expr.args) == 2:
            self._require_test(expr, expr.args[0], made)
        return self.bindings.resolve(value) if expr.name == "transformMapEntry" else made

    def _require_test(self, macro: Macro, test: Expr, result: CelType) -> None:
        found = self._check(test)
        if not self.bindings.assignable([(found, BOOL)]):
            self._no_overload(Call(macro.at, "_?_:_", []), [found, result, result])

    def _validate_literals(self, final: dict[int, CelType]) -> None:
        """What the engine refuses after checking: mixed literals, and texts that cannot be what they are used as."""
        for at, message in self.late:
            self._issue(at, message)
        for literal in self.lists:
            groups = [literal.items] if isinstance(literal, ListLiteral) else zip(*literal.entries, strict=True)
            for group in groups:
                self._validate_group(group, literal.optional, final)
        for call in self.literal_calls:
            argument = call.args[-1]
            text = argument.value if isinstance(argument, Literal) else None
            if isinstance(text, str) and literal_problem(call.function, text):
                self._issue(argument.at, f"invalid {call.function} argument")

    def _validate_group(self, group: Iterable[Expr], optional: frozenset[int], final: dict[int, CelType]) -> None:
        first: CelType | None = None
        for index, item in enumerate(group):
            found = final[id(item)]
            if index in optional and found.params:
                found = found.params[0]
            if first is None:
                first = found
            elif not first.same(found):
                self._issue(item.at, f"expected type '{first}' but found '{found}'")
                return


_TYPES: Final[dict[type[Expr], Callable[[_Checker, Any], CelType]]] = {
    Literal: lambda checker, expr: _LITERALS[type(expr.value)], Ident: _Checker._identifier, Select: _Checker._select,
    Call: _Checker._call, ListLiteral: _Checker._list, MapLiteral: _Checker._map, Macro: _Checker._macro,
}  # fmt: skip


def qualified(expr: Expr) -> str:
    """`a.b.c` as a text when the expression is nothing but names; otherwise empty."""
    if isinstance(expr, Ident):
        return expr.name
    if isinstance(expr, Select) and not expr.test and not expr.optional:
        prefix = qualified(expr.operand)
        return f"{prefix}.{expr.field}" if prefix else ""
    return ""


def _rename(type_: CelType, names: dict[str, CelType]) -> CelType:
    if type_.kind == "param":
        return names[type_.name]
    if not type_.params:
        return type_
    return CelType(type_.kind, type_.name, [_rename(param, names) for param in type_.params])


def literal_problem(function: str, value: Any) -> bool:
    """Whether a constant argument is one that the function always refuses."""
    try:
        _LITERAL_ARGUMENTS[function](value)
    except CelError:
        return True
    return False
