"""CEL rules when a CustomResourceDefinition is created: do they compile, and do they cost too much?

A rule's cost is its worst case for one value, times how many such values an object can hold: the product of the limits
(maxItems, maxProperties) on the way to it, or, where there is none, as many as fit into a request.
"""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery import field
from jobrelay.apimachinery.cel.checker import CompileError
from jobrelay.apimachinery.cel.cost import UINT_MAX, estimate
from jobrelay.apimachinery.field import FieldError, Path
from jobrelay.kinds.apiextensions import decls
from jobrelay.kinds.apiextensions.hoisting import go_rule
from jobrelay.kinds.apiextensions.rules import ValidationRule
from jobrelay.kinds.apiextensions.schemachecks import RuleChecker, SchemaRequirements, SchemaScope
from jobrelay.kinds.apiextensions.structural import Schema, StructuralSchema

EXPRESSION_LIMIT: Final = 10_000_000
TOTAL_LIMIT: Final = 100_000_000
_SHOWN: Final = 4
_ADVICE: Final = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, "
    "maps, and strings are declared)"
)


class CostTotal:
    """What all rules of a schema cost together, and the most expensive ones."""

    def __init__(self) -> None:
        self.cost = 0
        self.expensive: list[tuple[int, Path]] = []

    def add(self, path: Path, cost: int) -> None:
        self.cost = min(self.cost + cost, UINT_MAX)
        if cost >= TOTAL_LIMIT // 100:
            self.expensive.append((cost, path))
            self.expensive.sort(key=lambda found: -found[0])
            del self.expensive[_SHOWN:]

    def errors(self, path: Path) -> list[FieldError]:
        if self.cost <= TOTAL_LIMIT:
            return []
        detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        errors = [field.forbidden(where, detail) for _, where in self.expensive]
        name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        return [*errors, field.forbidden(path, _too_expensive(name, self.cost, TOTAL_LIMIT))]


def _too_expensive(name: str, cost: int, limit: int) -> str:
    factor = cost / limit
    text = "more than 100x" if factor > 100 else f"{factor:.6f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{name} exceeds budget by factor of {text} {_ADVICE}"


class RuleCompiler(RuleChecker):
    """Compiles the rules of one schema node, and estimates how often they would be evaluated."""

    def __init__(self, node: StructuralSchema, total: CostTotal, *, is_resource: bool, count: int | None) -> None:
        self.node, self.total, self.is_resource, self.count = node, total, is_resource, count

    def named(self, name: str) -> RuleChecker:
        child = self.node.named(name)
        assert child is not None
        return self._child(child)

    def values(self) -> RuleChecker:
        assert self.node.values is not None
        return self._child(self.node.values)

    def items(self) -> RuleChecker:
        return self._child(self.node.items) if self.node.items is not None else RuleChecker()

    def _child(self, child: StructuralSchema) -> RuleCompiler:
        most = _most_elements(self.node.schema)
        count = None if self.count is None or most is None else min(self.count * most, UINT_MAX)
        return RuleCompiler(child, self.total, is_resource=child.embedded, count=count)

    def check(self, schema: Schema, path: Path, scope: SchemaScope, options: SchemaRequirements) -> list[FieldError]:
        type_ = decls.decl_type(self.node, is_resource=self.is_resource)
        where = path.child("x-kubernetes-validations")
        if type_ is None:
            detail = (
                "failed to construct type information for x-kubernetes-validations rules: unable to convert "
                "structural schema to CEL declarations"
            )
            return [field.internal(where, f"internal error: {detail}")]
        errors: list[FieldError] = []
        for index, raw in enumerate(schema["x-kubernetes-validations"]):
            if raw.get("rule", "").strip():
                rule = ValidationRule(raw, self.node, type_)
                count = self.count if self.count is not None else decls.MAX_REQUEST // (type_.min_bytes + 1)
                errors += self._rule(rule, where.index(index), count, scope, options)
        return errors

    def _rule(
        self, rule: ValidationRule, path: Path, count: int, scope: SchemaScope, options: SchemaRequirements
    ) -> list[FieldError]:
        try:
            checked = rule.checked
        except CompileError as error:
            self.total.add(path.child("rule"), 0)
            return [
                field.invalid(path.child("rule"), go_rule(rule.raw), f"compilation failed: {error}"),
                *_unused_old(rule, path),
            ]
        if checked.result.kind != "bool":
            detail = "cel expression must evaluate to a bool"
            return [field.invalid(path.child("rule"), go_rule(rule.raw), detail), *_unused_old(rule, path)]
        cost = min(estimate(checked, rule.variables) * count, UINT_MAX)
        errors = self._cost_errors("estimated rule cost", cost, path.child("rule"), options)
        errors += self._message_errors(rule, path.child("messageExpression"), options)
        if not rule.uses_old:
            return errors + _unused_old(rule, path)
        if scope.uncorrelatable is not None:
            detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {scope.uncorrelatable}"
            errors.append(field.invalid(path.child("rule"), rule.raw["rule"], detail))
        return errors

    def _cost_errors(self, name: str, cost: int, path: Path, options: SchemaRequirements) -> list[FieldError]:
        self.total.add(path, cost)
        if options.no_rule_costs or cost <= EXPRESSION_LIMIT:
            return []
        return [field.forbidden(path, _too_expensive(name, cost, EXPRESSION_LIMIT))]

    def _message_errors(self, rule: ValidationRule, path: Path, options: SchemaRequirements) -> list[FieldError]:
        try:
            checked = rule.message_checked
        except CompileError as error:
            return [field.invalid(path, go_rule(rule.raw), f"messageExpression compilation failed: {error}")]
        if checked is None:
            return []
        if checked.result.kind != "string":
            return [field.invalid(path, go_rule(rule.raw), "messageExpression must evaluate to a string")]
        return self._cost_errors("estimated messageExpression cost", estimate(checked, rule.variables), path, options)


def _unused_old(rule: ValidationRule, path: Path) -> list[FieldError]:
    value: Any = rule.raw.get("optionalOldSelf")
    if value is None:
        return []
    return [field.invalid(path.child("optionalOldSelf"), value, "may not be set if oldSelf is not used in rule")]


def _most_elements(schema: Schema) -> int | None:
    """By how much a place multiplies its children; None when nothing limits it."""
    if schema.get("type") == "array":
        most = schema.get("maxItems")
    elif schema.get("type") == "object" and "additionalProperties" in schema:
        most = schema.get("maxProperties")
    else:
        return 1
    return None if most is None else max(most, 0)
