"""Evaluation: a checked tree becomes a program that takes the variables and gives a value or raises CelError.

A program is made of steps (see `steps`, which also says how cost is counted). `&&`, `||` and the quantifiers ignore an
error on one side when the other side decides, as CEL specifies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from jobrelay.apimachinery.cel.attributes import Qualifier, chain, get_field, get_item, has_field
from jobrelay.apimachinery.cel.calls import call
from jobrelay.apimachinery.cel.checker import Checked, qualified
from jobrelay.apimachinery.cel.functions import FUNCTIONS, Overload, dispatch
from jobrelay.apimachinery.cel.loops import LOOPS, optional_map
from jobrelay.apimachinery.cel.runtimecost import LIST, MAP, call_cost
from jobrelay.apimachinery.cel.steps import (
    CALL_LIMIT,
    INTERRUPT,
    CostExceeded,
    Eval,
    EvalStep,
    Frame,
    as_bool,
    constant,
)
from jobrelay.apimachinery.cel.syntax import Call, Expr, Ident, ListLiteral, Literal, Macro, MapLiteral, Select
from jobrelay.apimachinery.cel.values import CelError, CelOptional, TypeValue, kind_of, no_overload

_CONVERSIONS: Final = frozenset({
    "bool", "bytes", "double", "dyn", "duration", "int", "string", "timestamp", "type", "uint",
})  # fmt: skip
_PRIMITIVES: Final = frozenset({"bool", "double", "int", "string", "uint"})
_PATTERNS: Final = frozenset({"matches", "find", "findAll"})  # a constant pattern is compiled ahead


class CostMeter:
    """What an evaluation has cost."""

    __slots__ = ("spent",)

    def __init__(self) -> None:
        self.spent = 0


def build(checked: Checked) -> Callable[..., Any]:
    """The program of an expression: call it with the variables, and with a meter if its cost matters."""
    builder = _Builder(checked)
    root = builder.make(checked.expr)
    run, cost, names = root.run, root.cost, sorted(checked.variables)
    rest = [None] * (builder.slots - 1 - len(names))

    def program(variables: Mapping[str, Any], meter: CostMeter | None = None) -> Any:
        interrupt = INTERRUPT.get()
        frame: Frame = [cost, interrupt, *map(variables.get, names), *rest]
        try:
            if interrupt is not None:
                interrupt()
            return run(frame)
        finally:
            if meter is not None:
                meter.spent = frame[0]
            if frame[0] > CALL_LIMIT:
                raise CostExceeded

    return program


class _Builder:
    def __init__(self, checked: Checked) -> None:
        self.types, self.overloads = checked.types, checked.overloads
        self.scope: dict[str, EvalStep] = {}
        self.slots = 1  # the last slot that is taken
        for name in sorted(checked.variables):
            self._declare(name)

    def make(self, expr: Expr) -> EvalStep:
        """The step of a node, as the operand of something else or as the whole expression."""
        if not self._is_attribute(expr):
            return _MAKERS[type(expr)](self, expr)
        step = self._resolve(expr)
        return EvalStep(step.run, step.cost + self._own_cost(expr))

    def _slot(self) -> int:
        self.slots += 1
        return self.slots

    def _declare(self, name: str) -> int:
        slot = self._slot()
        self.scope[name] = EvalStep(lambda frame: frame[slot], slot=slot)
        return slot

    def _is_attribute(self, expr: Expr) -> bool:
        if isinstance(expr, Ident):
            return expr.name in self.scope
        if isinstance(expr, Select):
            return self.types[id(expr)].kind != "type" or not qualified(expr)
        return isinstance(expr, Call) and expr.function in ("_[_]", "_[?_]", "_?_:_")

    def _declared(self, expr: Expr) -> EvalStep | None:
        """The step of a variable; its name may have dots."""
        return self.scope.get(qualified(expr)) if isinstance(expr, (Ident, Select)) else None

    def _own_cost(self, expr: Expr) -> int:
        """What an attribute costs beside its parts: 1 for where it starts, but not for `?:`, nor for has()."""
        tested = isinstance(expr, Select) and expr.test
        while isinstance(expr, Select) or (isinstance(expr, Call) and expr.function in ("_[_]", "_[?_]")):
            expr = expr.operand if isinstance(expr, Select) else expr.args[0]
        return 1 - tested - (isinstance(expr, Call) and expr.function == "_?_:_")

    def _part(self, expr: Expr) -> EvalStep:
        """The step of a branch or an index: attributes do not cost the 1 for where they start."""
        return self._resolve(expr) if self._is_attribute(expr) else self.make(expr)

    def _resolve(self, expr: Expr) -> EvalStep:
        """The step of an attribute without its own cost."""
        if (declared := self._declared(expr)) is not None:
            return declared
        if isinstance(expr, Call) and expr.function == "_?_:_":
            return _conditional(self.make(expr.args[0]), *map(self._part, expr.args[1:]))
        qualifiers: list[Qualifier] = []
        while isinstance(expr, (Select, Call)) and self._is_attribute(expr) and self._declared(expr) is None:
            if isinstance(expr, Select):
                apply = has_field if expr.test else get_field
                qualifiers.append(Qualifier(apply, constant(expr.field), expr.optional))
                expr = expr.operand
            elif expr.function != "_?_:_":
                qualifiers.append(Qualifier(get_item, self._part(expr.args[1]), expr.function == "_[?_]"))
                expr = expr.args[0]
            else:
                break
        may_be_optional = self.types[id(expr)].kind in ("optional", "dyn", "param")
        return chain(self._part(expr), qualifiers[::-1], may_be_optional=may_be_optional)

    def _literal(self, expr: Literal) -> EvalStep:
        return constant(expr.value)

    def _type(self, expr: Ident | Select) -> EvalStep:
        return constant(TypeValue(qualified(expr)))

    def _call(self, expr: Call) -> EvalStep:
        if expr.function in ("_&&_", "_||_"):
            return _logical(*map(self.make, expr.args), decides=expr.function == "_||_")
        nodes = ([expr.target] if expr.target is not None else []) + expr.args
        args = [self.make(node) for node in nodes]
        if expr.function in ("or", "orValue") and expr.target is not None:
            return _or_else(expr.function, args[0], args[1])
        overloads = self.overloads.get(id(expr)) or FUNCTIONS[expr.function]
        types = [self.types[id(node)] for node in nodes]
        impl = _implementation(expr.function, overloads, known=all(map(_certain, types)))
        if expr.function in _CONVERSIONS and args[0].constant:
            only = args[0].run
            return EvalStep(lambda frame: impl(only(frame)), constant=True)
        if expr.function == "@in" and args[1].constant and overloads[0].id == "in_list" and len(overloads) == 1:
            return self._membership(expr, impl, args)
        stops = expr.function in _PATTERNS and args[1].constant
        return call(impl, args, call_cost(expr.function, overloads, types), stops_at_errors=stops)

    def _membership(self, expr: Call, impl: Callable[..., Any], args: list[EvalStep]) -> EvalStep:
        """`in` a constant list: as a look into a set it costs nothing, unless there are items that no set can have."""
        items, first = args[1].run([0]), args[0].run
        if not items:
            return constant(False)
        if not all(isinstance(item, (bool, int, float, str)) for item in items):
            return call(impl, args, call_cost(expr.function, self.overloads[id(expr)], []))
        plain, bools = ({item for item in items if isinstance(item, bool) is wanted} for wanted in (False, True))

        def run(frame: Frame) -> bool:
            value = first(frame)
            return kind_of(value) in _PRIMITIVES and value in (bools if isinstance(value, bool) else plain)

        return EvalStep(run, args[0].cost)

    def _list(self, expr: ListLiteral) -> EvalStep:
        items = [self.make(item) for item in expr.items]
        run = _gather(items)
        if all(item.constant for item in items) and not expr.optional:
            return constant(run([0]))
        cost = sum(item.cost for item in items) + LIST
        if not expr.optional:
            return EvalStep(run, cost)
        optional = [index in expr.optional for index in range(len(items))]

        def make(frame: Frame) -> Any:
            found = zip(run(frame), optional, strict=True)
            return [value.value if may_miss else value for value, may_miss in found if _kept(value, may_miss)]

        return EvalStep(make, cost)

    def _map(self, expr: MapLiteral) -> EvalStep:
        parts = [self.make(part) for entry in expr.entries for part in entry]
        gather, optional = _gather(parts), expr.optional

        def make(frame: Frame) -> Any:
            made: dict[Any, Any] = {}
            found = gather(frame)
            for index, (key, value) in enumerate(zip(found[::2], found[1::2], strict=True)):
                if not _kept(value, index in optional):
                    continue
                if key in made:
                    raise CelError("Failed with repeated key")
                made[key] = value.value if index in optional else value
            return made

        if all(part.constant for part in parts):
            return EvalStep(make, constant=True)
        return EvalStep(make, sum(part.cost for part in parts) + MAP)

    def _macro(self, expr: Macro) -> EvalStep:
        source, outer = self.make(expr.range), self.scope
        self.scope = dict(outer)
        try:
            if expr.name in ("optMap", "optFlatMap"):
                return self._optional_map(expr, source)
            slots = [self._declare(name) for name in expr.variables]
            return LOOPS[expr.name](source, slots, [self.make(arg) for arg in expr.args])
        finally:
            self.scope = outer

    def _optional_map(self, expr: Macro, source: EvalStep) -> EvalStep:
        slot, pending = self._slot(), self._slot()

        def read(frame: Frame) -> Any:
            frame[0] += frame[pending]
            frame[pending] = 0
            return frame[slot]

        self.scope[expr.variables[0]] = EvalStep(read)
        return optional_map(source, slot, pending, self.make(expr.args[0]), wrap=expr.name == "optMap")


_MAKERS: Final[dict[type[Expr], Callable[[_Builder, Any], EvalStep]]] = {
    Literal: _Builder._literal, Ident: _Builder._type, Select: _Builder._type, Call: _Builder._call,
    ListLiteral: _Builder._list, MapLiteral: _Builder._map, Macro: _Builder._macro,
}  # fmt: skip


def _certain(type_: Any) -> bool:
    return type_.kind not in ("dyn", "param", "error") and all(_certain(param) for param in type_.params)


def _implementation(function: str, overloads: list[Overload], *, known: bool) -> Callable[..., Any]:
    if known and len(overloads) == 1:
        return overloads[0].impl
    return lambda *args: dispatch(function, overloads, args)


def _gather(parts: list[EvalStep]) -> Eval:
    """The values of all parts; after an error in one, the rest is neither evaluated nor charged."""
    links = [(part.run, sum(later.cost for later in parts[at + 1 :])) for at, part in enumerate(parts)]

    def run(frame: Frame) -> Any:
        made = []
        for evaluate, rest in links:
            try:
                made.append(evaluate(frame))
            except CelError:
                frame[0] -= rest
                raise
        return made

    return run


def _kept(value: Any, optional: bool) -> bool:
    return not optional or value.present


def _logical(left: EvalStep, right: EvalStep, *, decides: bool) -> EvalStep:
    """`||` is decided by a true, `&&` by a false, on either side."""
    first, second, cost = left.run, right.run, right.cost

    def run(frame: Frame) -> bool:
        try:
            if as_bool(first(frame)) is decides:
                return decides
        except CelError as error:
            frame[0] += cost
            try:
                if as_bool(second(frame)) is decides:
                    return decides
            except CelError:
                pass
            raise error
        frame[0] += cost
        return as_bool(second(frame))

    return EvalStep(run, left.cost)


def _conditional(test: EvalStep, yes: EvalStep, no: EvalStep) -> EvalStep:
    decide = test.run

    def run(frame: Frame) -> Any:
        branch = yes if as_bool(decide(frame)) else no
        frame[0] += branch.cost
        return branch.run(frame)

    return EvalStep(run, test.cost)


def _or_else(function: str, target: EvalStep, other: EvalStep) -> EvalStep:
    def run(frame: Frame) -> Any:
        value = target.run(frame)
        if not isinstance(value, CelOptional):
            raise no_overload(function, value)
        if value.present:
            return value.value if function == "orValue" else value
        frame[0] += other.cost
        return other.run(frame)

    return EvalStep(run, target.cost)
