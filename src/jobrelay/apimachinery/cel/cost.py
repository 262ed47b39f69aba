"""The estimated worst-case cost of an expression, in the engine's units.

Kubernetes refuses rules by this estimate, so it follows the Go engine step by step, including its oddities: a size is
looked up by the path from `self` (`self.list.@items.name`), a path that starts anywhere else counts as `self` itself,
a name that CEL reserves is not found, and numbers and objects have size 0 when they come from the schema. Costs are
capped at the largest 64-bit number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from jobrelay.apimachinery.cel import syntax
from jobrelay.apimachinery.cel.callcost import CallCosts, Size, scaled
from jobrelay.apimachinery.cel.checker import Checked
from jobrelay.apimachinery.cel.types import CelType

UINT_MAX: Final = 2**64 - 1
_LIST: Final = 10
_MAP: Final = 30
_SCALARS: Final = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})
_MAYBE_TEXTS: Final = frozenset({"bytes", "dyn", "param", "string"})
Trail = tuple[str, ...]


@dataclass(slots=True)
class Variable:
    """A loop variable: where its values come from, and their size if that is not a place of the schema."""

    path: Trail
    size: Size | None
    entry: Size | None = None


def estimate(checked: Checked, variables: Mapping[str, CelType]) -> int:
    """The most that an expression can cost."""
    root = variables["self"]
    return min(_CostEstimator(checked, root).cost(checked.expr), UINT_MAX)


class _CostEstimator:
    def __init__(self, checked: Checked, root: CelType) -> None:
        self.types, self.overloads, self.root = checked.types, checked.overloads, root
        self.paths: dict[int, Trail] = {}
        self.sizes: dict[int, Size] = {}
        self.entries: dict[int, Size] = {}
        self.locals: dict[str, list[Variable]] = {}
        self.calls = CallCosts(self.size_or_unknown, self._computed, self.element, lambda expr: self.types[id(expr)])

    def cost(self, expr: syntax.Expr) -> int:
        if isinstance(expr, syntax.Literal):
            return 0
        if isinstance(expr, syntax.Ident):
            variable = self._local(expr.name)
            self.paths[id(expr)] = variable.path if variable else (expr.name,)
            return 1
        if isinstance(expr, syntax.Select):
            return self._select(expr)
        if isinstance(expr, syntax.Call):
            return self._call(expr)
        if isinstance(expr, syntax.ListLiteral):
            total = sum(self.cost(item) for item in expr.items)
            self.entries[id(expr)] = self._union(expr.items)
            return total + _LIST
        if isinstance(expr, syntax.MapLiteral):
            total = sum(self.cost(key) + self.cost(value) for key, value in expr.entries)
            self.entries[id(expr)] = self._union([value for _, value in expr.entries])
            return total + _MAP
        assert isinstance(expr, syntax.Macro)
        return self._macro(expr)

    def _union(self, items: list[syntax.Expr]) -> Size:
        sizes = [self.size_or_unknown(item) for item in items]
        return Size(min((s.low for s in sizes), default=0), max((s.high for s in sizes), default=0))

    def _local(self, name: str) -> Variable | None:
        stack = self.locals.get(name)
        return stack[-1] if stack else None

    def _path(self, expr: syntax.Expr) -> Trail:
        if isinstance(expr, syntax.Ident) and (variable := self._local(expr.name)):
            return variable.path
        return self.paths.get(id(expr), ())

    def _select(self, expr: syntax.Select) -> int:
        total = self.cost(expr.operand)
        if expr.test:
            return total
        if expr.optional:
            return total + 1
        if self.types[id(expr.operand)].kind in ("map", "object", "param"):
            total += 1
        self.paths[id(expr)] = (*self._path(expr.operand), expr.field)
        return total

    def _call(self, expr: syntax.Call) -> int:
        if expr.function == "dyn":
            inner = self.cost(expr.args[0]) + 1
            if size := self.size(expr.args[0]):
                self.sizes[id(expr)] = size
            return inner
        costs = [self.cost(arg) for arg in expr.args]
        if expr.function in ("_&&_", "_||_"):
            return costs[0] + costs[1]
        if expr.function == "_?_:_":
            return self._conditional(expr, costs)
        total = self.cost(expr.target) if expr.target is not None else 0
        highest, result = 0, None
        for overload in self.overloads.get(id(expr), ()):
            cost, size = self.calls.cost(overload, expr)
            highest = max(highest, cost + sum(costs))
            result = size if result is None else result.union(size) if size is not None else result
        result = self._indexed(expr, result)
        if result is None:
            result = self.size(expr)
        if result is not None:
            self.sizes[id(expr)] = result
        self._joined_entries(expr)
        return total + highest

    def _indexed(self, expr: syntax.Call, result: Size | None) -> Size | None:
        if expr.function != "_[_]":
            return result
        step = {"list": "@items", "map": "@values"}.get(self.types[id(expr.args[0])].kind)
        if step is None:
            return result
        self.paths[id(expr)] = (*self._path(expr.args[0]), step)
        return self.entry(expr.args[0])

    def _joined_entries(self, expr: syntax.Call) -> None:
        if expr.function == "_+_":
            first, second = (self.entry(arg) for arg in expr.args)
            if first is not None and second is not None:
                self.entries[id(expr)] = first.union(second)

    def _conditional(self, expr: syntax.Call, costs: list[int]) -> int:
        yes, no = expr.args[1:]
        self.sizes[id(expr)] = self.size_or_unknown(yes).union(self.size_or_unknown(no))
        first, second = self.entry(yes), self.entry(no)
        if first is not None and second is not None:
            self.entries[id(expr)] = first.union(second)
        return costs[0] + max(costs[1:])

    def _macro(self, expr: syntax.Macro) -> int:
        if expr.name in ("optMap", "optFlatMap"):
            return self._optional_map(expr)
        source = self.cost(expr.range)
        self._push(expr)
        inner = [self.cost(arg) for arg in expr.args]
        body_entry = self._variable_size(expr) if expr.name == "filter" else self.size_or_unknown(expr.args[-1])
        for name in expr.variables:
            self.locals[name].pop()
        rounds = self.size_or_unknown(expr.range)
        fixed, step = _LOOPS[expr.name]
        if expr.name == "sortBy":
            pairs = self.sizes[id(expr)] = rounds.times(rounds)
            fixed += scaled(pairs.high, 2.1 if self.types[id(expr.args[0])].kind in _MAYBE_TEXTS else 2)
        elif expr.name in ("all", "exists", "exists_one", "existsOne"):
            self.sizes[id(expr)] = Size(1, 1)
        else:
            self.sizes[id(expr)] = rounds
            self.entries[id(expr)] = body_entry
        return source + fixed + rounds.high * (step + sum(inner))

    def _variable_size(self, expr: syntax.Macro) -> Size:
        variable = self._local(expr.variables[0])
        assert variable is not None
        found = self._schema_size(variable.path)
        if found is None and self.types[id(expr.range)].elem.kind in _SCALARS:
            found = Size(1, 1)
        return found or variable.size or Size(0, UINT_MAX)

    def _optional_map(self, expr: syntax.Macro) -> int:
        target = self.cost(expr.range)
        self.locals.setdefault(expr.variables[0], []).append(Variable((), None))
        body = self.cost(expr.args[0])
        self.locals[expr.variables[0]].pop()
        wrapping = 1 if expr.name == "optMap" else 0
        return target + 1 + max(wrapping + _LIST + target + 1 + body, 1)

    def _push(self, expr: syntax.Macro) -> None:
        is_list = self.types[id(expr.range)].kind == "list"
        path, entry = self._path(expr.range), self.entry(expr.range)
        key = Variable((*path, "@indices" if is_list else "@keys"), None)
        value = Variable((*path, "@items" if is_list else "@values"), entry)
        found = [key, value] if len(expr.variables) == 2 else [value if is_list else key]
        for name, variable in zip(expr.variables, found, strict=True):
            self.locals.setdefault(name, []).append(variable)

    def size_or_unknown(self, expr: syntax.Expr) -> Size:
        return self.size(expr) or Size(0, UINT_MAX)

    def size(self, expr: syntax.Expr) -> Size | None:
        """The size of a value: known, written down, found by its path in the schema, or by its type."""
        known = self._computed(expr)
        if known is not None:
            return known
        looked_up = self._schema_size(self._path(expr))
        if looked_up is not None:
            self.sizes[id(expr)] = looked_up
            return looked_up
        type_ = self.types.get(id(expr))
        while type_ is not None and type_.kind == "optional":
            type_ = type_.params[0]
        if type_ is not None and type_.kind in _SCALARS:
            return Size(1, 1)
        variable = self._local(expr.name) if isinstance(expr, syntax.Ident) else None
        return variable.size if variable else None

    def _computed(self, expr: syntax.Expr) -> Size | None:
        """The size of a value where it was computed or written down."""
        return self.sizes.get(id(expr)) or _literal_size(expr)

    def entry(self, expr: syntax.Expr) -> Size | None:
        """The size of a list's items or a map's values, where it was computed."""
        if id(expr) in self.entries:
            return self.entries[id(expr)]
        variable = self._local(expr.name) if isinstance(expr, syntax.Ident) else None
        return variable.entry if variable else None

    def element(self, expr: syntax.Expr) -> tuple[CelType, Size] | None:
        """The type and size of a list's items, by the schema."""
        type_ = self.types[id(expr)]
        if not type_.params:
            return None
        path = self._path(expr)
        size = self._schema_size((*path, "@items")) if path else None
        return type_.params[0], size or Size(0, UINT_MAX)

    def _schema_size(self, path: Trail) -> Size | None:
        if not path:
            return None
        place: CelType | None = self.root
        for name in path[1:]:
            place = _step(place, name)
            if place is None:
                return None
        return Size(0, place.size or 0) if place is not None else None


def _step(place: CelType | None, name: str) -> CelType | None:
    if place is None:
        return None
    if name in ("@items", "@values"):
        return place.params[-1] if place.kind in ("list", "map") else None
    if name == "@keys":
        return place.params[0] if place.kind == "map" else None
    return place.fields.get(name) if place.kind == "object" and name not in syntax.RESERVED else None


def _literal_size(expr: syntax.Expr) -> Size | None:
    if isinstance(expr, syntax.Literal):
        count = len(expr.value) if isinstance(expr.value, (str, bytes)) else 1
        return Size(count, count)
    if isinstance(expr, syntax.ListLiteral):
        return Size(len(expr.items), len(expr.items))
    if isinstance(expr, syntax.MapLiteral):
        return Size(len(expr.entries), len(expr.entries))
    return None


# What each macro costs beside its arguments: once, and per round (its loop as the engine unfolds it).
_LOOPS: Final = {
    "all": (1, 3), "exists": (1, 4), "exists_one": (2, 2), "existsOne": (2, 2), "map": (_LIST + 1, 12),
    "filter": (_LIST + 1, 13),
    "transformList": (_LIST + 1, 12), "transformMap": (_MAP + 1, 3), "transformMapEntry": (_MAP + 1, 2),
    "sortBy": (3 * _LIST + 4, 12),
}  # fmt: skip
