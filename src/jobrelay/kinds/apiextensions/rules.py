"""The CEL rules of a schema (`x-kubernetes-validations`) and their evaluation for an object.

Rules are found once, by one scan of the schema, and kept as a tree that has branches only where rules are: validating
an object touches nothing else. Each rule is compiled when it is first needed. A rule that mentions `oldSelf` is a
transition rule: it is skipped when there is no stored value to compare with, unless it says `optionalOldSelf`.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from typing import Any, Final

from jobrelay.apimachinery import field as fields
from jobrelay.apimachinery.cel.checker import Checked, CompileError, compile_expression
from jobrelay.apimachinery.cel.program import CostMeter, build
from jobrelay.apimachinery.cel.steps import CostExceeded
from jobrelay.apimachinery.cel.types import CelType, optional_of
from jobrelay.apimachinery.cel.values import CelError, CelOptional
from jobrelay.apimachinery.field import NO_VALUE, FieldError, Path, go_quote
from jobrelay.kinds.apiextensions import decls, fieldpaths
from jobrelay.kinds.apiextensions.ratchet import CorrelatedObject, item_key, keyed_items
from jobrelay.kinds.apiextensions.structural import Schema, StructuralSchema

_MESSAGE_MAX: Final = 5 * 1024
ROOT: Final = Path()
OBJECT_BUDGET: Final = 10_000_000  # what all rules together may cost for one object
_OUT_OF_BUDGET: Final = "failed due to running out of cost budget, no further validation rules will be run"
_NO_BUDGET: Final = f"validation {_OUT_OF_BUDGET}"
_TOO_EXPENSIVE: Final = "no further validation rules will be run due to call cost exceeds limit for"


class _NoBudget(Exception):
    """An evaluation cost more than is left for the object."""


@dataclass(slots=True)
class RuleResult:
    """The errors, and as warnings the texts of errors that were ignored because nothing changed."""

    errors: list[FieldError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class ValidationRule:
    """One rule, compiled on first use."""

    def __init__(self, raw: Schema, node: StructuralSchema, type_: CelType) -> None:
        self.raw, self._node, self._type = raw, node, type_
        self.optional_old: bool = raw.get("optionalOldSelf", False)

    @property
    def variables(self) -> dict[str, CelType]:
        return {"self": self._type, "oldSelf": optional_of(self._type) if self.optional_old else self._type}

    @functools.cached_property
    def checked(self) -> Checked:
        """The checked rule; raises CompileError."""
        return compile_expression(self.raw["rule"], self.variables)

    @functools.cached_property
    def program(self) -> Any:
        return build(self.checked)

    @functools.cached_property
    def message_checked(self) -> Checked | None:
        source = self.raw.get("messageExpression", "")
        return compile_expression(source, self.variables) if source else None

    @functools.cached_property
    def message_program(self) -> Any:
        return build(self.message_checked) if self.message_checked is not None else None

    @property
    def uses_old(self) -> bool:
        return "oldSelf" in self.checked.variables

    @property
    def name(self) -> str:
        """How error texts call the rule."""
        return str(self.raw.get("message", "") or self.raw["rule"]).strip()

    @functools.cached_property
    def field_path(self) -> str:
        if not self.raw.get("fieldPath"):
            return ""
        try:
            return str(fieldpaths.resolve(self.raw["fieldPath"], self._node)[0])
        except fieldpaths.FieldPathError:
            return ""

    @property
    def default_message(self) -> str:
        return self.name if self.raw.get("message") else f"failed rule: {self.name}"

    def expressed_message(self, variables: dict[str, Any], meter: CostMeter) -> str:
        """The message that the rule's messageExpression makes; empty when it cannot be used."""
        try:
            text = self.message_program(variables, meter)
        except CelError:
            return ""
        text = text.strip() if isinstance(text, str) else ""
        return "" if "\n" in text or len(text.encode()) > _MESSAGE_MAX else text


class RuleTree:
    """The rules at one place and below it."""

    def __init__(self, node: StructuralSchema, *, is_resource: bool, type_: CelType | None) -> None:
        self.node, self.is_resource, self.type = node, is_resource, type_
        self.own: list[ValidationRule] = []
        self.children: dict[str, RuleTree] = {}
        self.values: RuleTree | None = None
        self.items: RuleTree | None = None

    def validate(self, new: Any, old: Any, correlated: CorrelatedObject | None, path: Path = ROOT) -> RuleResult:
        """Evaluates the rules for a value; with `correlated`, errors of unchanged values become warnings."""
        verdict = RuleResult()
        _Evaluation(verdict).visit(self, new, old, path, correlated, None)
        return verdict


def compile_rules(root: StructuralSchema) -> RuleTree | None:
    """The rules of a whole schema, or None when it has none."""
    return compile_rules_at(root, is_resource=True)


def compile_rules_at(node: StructuralSchema, *, is_resource: bool) -> RuleTree | None:
    """The rules at a place of a schema and below it."""
    ruled: set[int] = set()
    if not _collect(node.schema, ruled):
        return None
    return _tree(node, decls.decl_type(node, is_resource=is_resource), ruled, is_resource=is_resource)


def _collect(schema: Schema, ruled: set[int]) -> bool:
    """Whether a schema has rules anywhere; remembers the ids of all places on the way to them."""
    found = "x-kubernetes-validations" in schema
    for child in (schema.get("properties") or {}).values():
        found |= _collect(child, ruled)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            found |= _collect(schema[key], ruled)
    if found:
        ruled.add(id(schema))
    return found


def _tree(node: StructuralSchema, type_: CelType | None, ruled: set[int], *, is_resource: bool) -> RuleTree | None:
    made = RuleTree(node, is_resource=is_resource, type_=type_)
    schema = node.schema
    if type_ is not None:
        made.own = [ValidationRule(raw, node, type_) for raw in schema.get("x-kubernetes-validations") or ()]
    for name, child_schema in (schema.get("properties") or {}).items():
        child = node.named(name) if id(child_schema) in ruled else None
        if child is None:
            continue
        tree = _tree(child, _property_type(type_, name, child), ruled, is_resource=child.embedded)
        if tree is not None:
            made.children[name] = tree
    for key, child in (("values", node.values), ("items", node.items)):
        if child is not None and id(child.schema) in ruled:
            inner = type_.elem if type_ is not None and type_.kind in ("list", "map") else None
            setattr(made, key, _tree(child, inner, ruled, is_resource=child.embedded))
    return made if made.own or made.children or made.values or made.items else None


def _property_type(parent: CelType | None, name: str, child: StructuralSchema) -> CelType | None:
    spelled = decls.escape(name)
    if spelled is None:
        return decls.decl_type(child, is_resource=child.embedded)
    return parent.fields.get(spelled) if parent is not None and parent.kind == "object" else None


class _Evaluation:
    """One validation: walks the rules' tree beside the new and the old value."""

    def __init__(self, verdict: RuleResult) -> None:
        self.verdict, self.budget = verdict, OBJECT_BUDGET

    def visit(
        self,
        rules: RuleTree,
        new: Any,
        old: Any,
        path: Path,
        pair: CorrelatedObject | None,
        parent: CorrelatedObject | None,
    ) -> None:
        if new is None or self.budget < 0:
            return
        if rules.own:
            self._evaluate(rules, new, old, path, pair if pair is not None else parent)
        if isinstance(new, list):
            self._items(rules, new, old, path, pair)
        elif isinstance(new, dict):
            self._properties(rules, new, old, path, pair, root=parent is None)

    def _properties(
        self, rules: RuleTree, new: dict[str, Any], old: Any, path: Path, pair: CorrelatedObject | None, *, root: bool
    ) -> None:
        before = old if isinstance(old, dict) else {}
        for key, value in new.items():
            child = rules.children.get(key)
            inner = child or rules.values
            if inner is None:
                continue
            where = path.child(key) if child is not None else path.key(key)
            deeper = pair.key(key) if pair is not None and not (root and key in ("apiVersion", "kind")) else None
            self.visit(inner, value, before.get(key), where, deeper, pair)

    def _items(self, rules: RuleTree, new: list[Any], old: Any, path: Path, pair: CorrelatedObject | None) -> None:
        if rules.items is None:
            return
        keyed: dict[Any, Any] = {}
        if rules.node.list_type == "map" and isinstance(old, list):
            keyed = keyed_items(rules.node, old)
        for index, item in enumerate(new):
            before = keyed.get(item_key(rules.node, item)) if keyed else None
            deeper = pair.index(index) if pair is not None else None
            self.visit(rules.items, item, before, path.index(index), deeper, pair)

    def _evaluate(self, rules: RuleTree, new: Any, old: Any, path: Path, pair: CorrelatedObject | None) -> None:
        node = decls.with_meta(rules.node) if rules.is_resource else rules.node
        if self.budget == 0:
            self._stop(fields.invalid(path, node.type, _NO_BUDGET))
        for rule in rules.own:
            if self.budget < 0:
                return
            try:
                if rule.uses_old and old is None and not rule.optional_old:
                    continue
                variables = _variables(rule, node, new, old)
                passed = self._run(rule.program, variables)
            except CompileError as error:
                self._error(fields.invalid(path, node.type, f"rule compile error: compilation failed: {error}"))
            except _NoBudget:
                self._stop(fields.invalid(path, node.type, _NO_BUDGET))
            except CelError as error:
                self._error(_failure(path, node.type, error, rule))
            except CostExceeded as error:
                self._stop(fields.invalid(path, node.type, f"'{error}': {_TOO_EXPENSIVE} rule: {rule.name}"))
            else:
                if passed is not True:
                    self._refuse(rule, node, new, path, variables, pair)

    def _run(self, program: Any, variables: dict[str, Any]) -> Any:
        """Evaluates and takes the cost from the budget; that there is none left matters more than any error."""
        meter = CostMeter()
        try:
            return program(variables, meter)
        finally:
            if meter.spent > self.budget:
                raise _NoBudget
            self.budget -= meter.spent

    def _refuse(
        self,
        rule: ValidationRule,
        node: StructuralSchema,
        new: Any,
        path: Path,
        variables: dict[str, Any],
        pair: CorrelatedObject | None,
    ) -> None:
        where = path.child(rule.field_path) if rule.field_path else path
        error, stops = self._refusal(rule, node, new, where, variables)
        if not rule.uses_old and pair is not None and pair.unchanged():
            self.verdict.warnings.append(error.text())
        else:
            self._error(error)
        if stops:
            self.budget = -1

    def _refusal(
        self, rule: ValidationRule, node: StructuralSchema, new: Any, where: Path, variables: dict[str, Any]
    ) -> tuple[FieldError, bool]:
        """The error of a rule that does not hold, and whether its messageExpression ends the validation."""
        text = ""
        if rule.message_program is not None:
            try:
                text = self._run(rule.expressed_message, variables)
            except _NoBudget:
                return fields.invalid(where, node.type, f"messageExpression evaluation {_OUT_OF_BUDGET}"), True
            except CostExceeded:
                source = go_quote(rule.raw["messageExpression"])
                return fields.invalid(where, node.type, f"{_TOO_EXPENSIVE} messageExpression: {source}"), True
        value = NO_VALUE if node.type in ("object", "array") else new
        return _reason_error(rule.raw.get("reason", ""), where, value, text or rule.default_message), False

    def _stop(self, error: FieldError) -> None:
        self._error(error)
        self.budget = -1

    def _error(self, error: FieldError) -> None:
        self.verdict.errors.append(error)


def _variables(rule: ValidationRule, node: StructuralSchema, new: Any, old: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"self": decls.view(new, node)}
    if not rule.uses_old:
        return made
    before = decls.view(old, node) if old is not None else None
    made["oldSelf"] = CelOptional(before, present=old is not None) if rule.optional_old else before
    return made


def _failure(path: Path, type_: str, error: CelError, rule: ValidationRule) -> FieldError:
    text = str(error)
    if text.startswith("no such overload"):
        what = "call arguments did not match a supported operator, function or macro signature for rule"
        return fields.invalid(path, type_, f"'{text}': {what}: {rule.name}")
    return fields.invalid(path, type_, f"{text} evaluating rule: {rule.name}")


def _reason_error(reason: str, path: Path, value: Any, detail: str) -> FieldError:
    if reason == "FieldValueForbidden":
        return fields.forbidden(path, detail)
    if reason == "FieldValueRequired":
        return fields.required(path, detail)
    if reason == "FieldValueDuplicate":
        return FieldError("FieldValueDuplicate", str(path), value)
    return fields.invalid(path, value, detail)


def has_line_breaks(text: str) -> bool:
    return re.search(r"[\n\r]", text) is not None
