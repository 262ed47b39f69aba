"""Evaluation: a checked tree becomes a closure that takes the variables and gives a value or raises CelError.

`&&`, `||` and the quantifiers ignore an error on one side when the other side decides, as CEL specifies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from jobrelay.apimachinery.cel.checker import Checked, qualified
from jobrelay.apimachinery.cel.functions import FUNCTIONS, Overload, dispatch
from jobrelay.apimachinery.cel.standard import find_key
from jobrelay.apimachinery.cel.syntax import Call, Expr, Ident, ListLiteral, Literal, Macro, MapLiteral, Select
from jobrelay.apimachinery.cel.texts import sort_by
from jobrelay.apimachinery.cel.values import CelError, CelOptional, TypeValue, kind_of, no_overload, type_name

Scope = dict[str, Any]
Eval = Callable[[Scope], Any]
_LAZY: Final = frozenset({"or", "orValue"})
_METER: Final = "@meter"  # where a scope has its CostMeter; no variable has such a name
CALL_LIMIT: Final = 1_000_000


class CostExceeded(Exception):
    """An evaluation costs too much. Not a CelError, because no operator ignores it."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class CostMeter:
    """Counts what an evaluation costs: one for each round of a comprehension, which Kubernetes counts as several.

    So it never stops what Kubernetes would let pass, and what it lets pass is bounded.
    """

    __slots__ = ("spent",)

    def __init__(self) -> None:
        self.spent = 0

    def spend(self) -> None:
        self.spent += 1
        if self.spent > CALL_LIMIT:
            raise CostExceeded


def build(checked: Checked) -> Callable[..., Any]:
    """The program of an expression: call it with the variables, and with a meter if its cost matters."""
    run = _Builder(checked).make(checked.expr)

    def program(variables: Mapping[str, Any], meter: CostMeter | None = None) -> Any:
        return run({**variables, _METER: meter or CostMeter()})

    return program


class _Builder:
    def __init__(self, checked: Checked) -> None:
        self.types, self.overloads = checked.types, checked.overloads

    def make(self, expr: Expr) -> Eval:
        return _MAKERS[type(expr)](self, expr)

    def _literal(self, expr: Literal) -> Eval:
        value = expr.value
        return lambda scope: value

    def _identifier(self, expr: Ident) -> Eval:
        name = expr.name
        return lambda scope: scope[name] if name in scope else TypeValue(name)

    def _select(self, expr: Select) -> Eval:
        if self.types[id(expr)].kind == "type" and (name := qualified(expr)):
            return lambda scope: TypeValue(name)
        operand, field = self.make(expr.operand), expr.field
        if expr.test:
            return lambda scope: has_field(operand(scope), field)
        if expr.optional:
            return lambda scope: optional_field(operand(scope), field)

        def select(scope: Scope) -> Any:
            value = operand(scope)
            return optional_field(value, field) if isinstance(value, CelOptional) else get_field(value, field)

        return select

    def _call(self, expr: Call) -> Eval:
        if expr.function in ("_&&_", "_||_"):
            return _logical(*map(self.make, expr.args), decides=expr.function == "_||_")
        if expr.function == "_?_:_":
            return _conditional(*map(self.make, expr.args))
        if expr.function == "@in" and isinstance(expr.args[1], ListLiteral) and not expr.args[1].items:
            return lambda scope: False
        nodes = ([expr.target] if expr.target is not None else []) + expr.args
        args = [self.make(node) for node in nodes]
        if expr.function in _LAZY and expr.target is not None:
            return _or_else(expr.function, args[0], args[1])
        known = all(_certain(self.types[id(node)]) for node in nodes)
        return _invoke(expr.function, self.overloads.get(id(expr)) or FUNCTIONS[expr.function], args, known=known)

    def _list(self, expr: ListLiteral) -> Eval:
        items = [self.make(item) for item in expr.items]
        if not expr.optional:
            return lambda scope: [item(scope) for item in items]
        optional = expr.optional

        def make(scope: Scope) -> Any:
            made = []
            for index, item in enumerate(items):
                value = item(scope)
                if index not in optional:
                    made.append(value)
                elif value.present:
                    made.append(value.value)
            return made

        return make

    def _map(self, expr: MapLiteral) -> Eval:
        entries = [(self.make(key), self.make(value)) for key, value in expr.entries]
        optional = expr.optional

        def make(scope: Scope) -> Any:
            made: dict[Any, Any] = {}
            for index, (key, value) in enumerate(entries):
                found_key, found = key(scope), value(scope)
                if index in optional:
                    if not found.present:
                        continue
                    found = found.value
                if found_key in made:
                    raise CelError("Failed with repeated key")
                made[found_key] = found
            return made

        return make

    def _macro(self, expr: Macro) -> Eval:
        source = self.make(expr.range)
        args = [self.make(arg) for arg in expr.args]
        if expr.name in ("optMap", "optFlatMap"):
            return _optional_map(source, expr.variables[0], args[0], wrap=expr.name == "optMap")
        return _LOOPS[expr.name](source, expr.variables, args)


_MAKERS: Final[dict[type[Expr], Callable[[_Builder, Any], Eval]]] = {
    Literal: _Builder._literal, Ident: _Builder._identifier, Select: _Builder._select, Call: _Builder._call,
    ListLiteral: _Builder._list, MapLiteral: _Builder._map, Macro: _Builder._macro,
}  # fmt: skip


def _certain(type_: Any) -> bool:
    return type_.kind not in ("dyn", "param", "error") and all(_certain(param) for param in type_.params)


def _invoke(function: str, overloads: list[Overload], args: list[Eval], *, known: bool) -> Eval:
    if known and len(overloads) == 1:
        impl = overloads[0].impl
        if len(args) == 1:
            one = args[0]
            return lambda scope: impl(one(scope))
        if len(args) == 2:
            first, second = args
            return lambda scope: impl(first(scope), second(scope))
        return lambda scope: impl(*(arg(scope) for arg in args))
    return lambda scope: dispatch(function, overloads, tuple(arg(scope) for arg in args))


def get_field(value: Any, field: str) -> Any:
    """`value.field`."""
    if kind_of(value) != "map":
        known = kind_of(value) != "dyn"
        raise CelError(f"no such overload: {type_name(value)}.ref-key") if known else no_overload("select", value)
    if field not in value:
        raise CelError(f"no such key: {field}")
    return value[field]


def has_field(value: Any, field: str) -> bool:
    if isinstance(value, CelOptional):
        return value.present and has_field(value.value, field)
    if kind_of(value) != "map":
        raise no_overload("has", value)
    return field in value


def optional_field(value: Any, field: str) -> CelOptional:
    if isinstance(value, CelOptional):
        return optional_field(value.value, field) if value.present else CelOptional()
    if not has_field(value, field):
        return CelOptional()
    return CelOptional(value[field], present=True)


def _bool(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    raise CelError("no such overload")


def _logical(left: Eval, right: Eval, *, decides: bool) -> Eval:
    """`||` is decided by a true, `&&` by a false, on either side."""

    def run(scope: Scope) -> bool:
        try:
            if _bool(left(scope)) is decides:
                return decides
        except CelError as error:
            try:
                if _bool(right(scope)) is decides:
                    return decides
            except CelError:
                pass
            raise error
        return _bool(right(scope))

    return run


def _conditional(test: Eval, yes: Eval, no: Eval) -> Eval:
    return lambda scope: yes(scope) if _bool(test(scope)) else no(scope)


def _or_else(function: str, target: Eval, other: Eval) -> Eval:
    def run(scope: Scope) -> Any:
        value = target(scope)
        if not isinstance(value, CelOptional):
            raise no_overload(function, value)
        if value.present:
            return value.value if function == "orValue" else value
        return other(scope)

    return run


def _optional_map(source: Eval, name: str, body: Eval, *, wrap: bool) -> Eval:
    def run(scope: Scope) -> Any:
        value = source(scope)
        if not value.present:
            return CelOptional()
        made = body({**scope, name: value.value})
        return CelOptional(made, present=True) if wrap else made

    return run


def _pairs(value: Any, count: int) -> list[tuple[Any, ...]]:
    """What the loop variables are in turn."""
    kind = kind_of(value)
    if kind == "list":
        return list(enumerate(value)) if count == 2 else [(item,) for item in value]
    if kind == "map":
        return list(value.items()) if count == 2 else [(key,) for key in value]
    raise no_overload("comprehension", value)


def _rounds(source: Eval, names: list[str], scope: Scope) -> Any:
    inner = dict(scope)
    spend = scope[_METER].spend
    for found in _pairs(source(scope), len(names)):
        spend()
        inner.update(zip(names, found, strict=True))
        yield inner, found


def _quantifier(decides: bool) -> Callable[[Eval, list[str], list[Eval]], Eval]:
    """`exists` is decided by a true, `all` by a false; errors count only when nothing decides."""

    def make(source: Eval, names: list[str], args: list[Eval]) -> Eval:
        test = args[0]

        def run(scope: Scope) -> bool:
            failure: CelError | None = None
            for inner, _ in _rounds(source, names, scope):
                try:
                    if _bool(test(inner)) is decides:
                        return decides
                except CelError as error:
                    failure = failure or error
            if failure is not None:
                raise failure
            return not decides

        return run

    return make


def _exists_one(source: Eval, names: list[str], args: list[Eval]) -> Eval:
    return lambda scope: sum(_bool(args[0](inner)) for inner, _ in _rounds(source, names, scope)) == 1


def _filter(source: Eval, names: list[str], args: list[Eval]) -> Eval:
    return lambda scope: [found[-1] for inner, found in _rounds(source, names, scope) if _bool(args[0](inner))]


def _chosen(source: Eval, names: list[str], args: list[Eval], scope: Scope) -> Any:
    """The rounds of a loop that pass its test, the first of two arguments."""
    rounds = _rounds(source, names, scope)
    return rounds if len(args) == 1 else (found for found in rounds if _bool(args[0](found[0])))


def _map_loop(source: Eval, names: list[str], args: list[Eval]) -> Eval:
    body = args[-1]
    return lambda scope: [body(inner) for inner, _ in _chosen(source, names, args, scope)]


def _map_entries(source: Eval, names: list[str], args: list[Eval]) -> Eval:
    body = args[-1]
    return lambda scope: {found[0]: body(inner) for inner, found in _chosen(source, names, args, scope)}


def _merge_entries(source: Eval, names: list[str], args: list[Eval]) -> Eval:
    def run(scope: Scope) -> Any:
        made: dict[Any, Any] = {}
        for inner, _ in _chosen(source, names, args, scope):
            for key, value in args[-1](inner).items():
                if find_key(made, key) is not None:
                    raise CelError(f"insert failed: key {key} already exists")
                made[key] = value
        return made

    return run


def _sort_by(source: Eval, names: list[str], args: list[Eval]) -> Eval:
    def run(scope: Scope) -> Any:
        rounds = [(found[0], args[0](inner)) for inner, found in _rounds(source, names, scope)]
        return sort_by([item for item, _ in rounds], [key for _, key in rounds])

    return run


_LOOPS: Final[dict[str, Callable[[Eval, list[str], list[Eval]], Eval]]] = {
    "all": _quantifier(False), "exists": _quantifier(True), "exists_one": _exists_one, "existsOne": _exists_one,
    "filter": _filter, "map": _map_loop, "transformList": _map_loop, "transformMap": _map_entries,
    "transformMapEntry": _merge_entries, "sortBy": _sort_by,
}  # fmt: skip
