"""Are the defaults of a schema values that the schema itself accepts, without unknown fields?"""

from __future__ import annotations

import copy
from typing import Any

from jobrelay.apimachinery import field
from jobrelay.apimachinery.field import FieldError, Path
from jobrelay.kinds.apiextensions import checks, embedded, pruning
from jobrelay.kinds.apiextensions.rules import Rules, compile_rules_at
from jobrelay.kinds.apiextensions.structural import Node

_STAND_IN: dict[str, Any] = {"apiVersion": "validation/v1", "kind": "Validation"}


def has_defaults(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return False
    if "default" in schema:
        return True
    children = [
        *(schema.get("properties") or {}).values(),
        schema.get("items"),
        schema.get("additionalProperties"),
        schema.get("not"),
    ]
    for key in ("allOf", "anyOf", "oneOf"):
        children += schema.get(key) or ()
    return any(has_defaults(child) for child in children)


def validate_defaults(root: Node, path: Path, *, require_pruned: bool) -> list[FieldError]:
    """The errors of all defaults in a resource's schema."""
    errors: list[FieldError] = []
    _walk(root, path, errors, require_pruned=require_pruned, is_resource=True)
    return errors


def _walk(node: Node, path: Path, errors: list[FieldError], *, require_pruned: bool, is_resource: bool = False) -> None:
    is_resource = is_resource or node.embedded
    if node.default is not None:
        errors += _default_errors(node, path.child("default"), require_pruned=require_pruned, is_resource=is_resource)
    items = node.items
    if items is not None:
        _walk(items, path.child("items"), errors, require_pruned=require_pruned)
    properties = node.schema.get("properties")
    if not properties:
        return
    inside = path.child("properties")
    for name in properties:
        child = node.named(name)
        assert child is not None
        if is_resource and name in pruning.META_FIELDS and child.default is not None:
            errors += _meta_default_errors(name, child, inside.key(name).child("default"))
        else:
            _walk(child, inside.key(name), errors, require_pruned=require_pruned)


def _meta_default_errors(name: str, node: Node, path: Path) -> list[FieldError]:
    """A default of apiVersion, kind or metadata must make a valid object."""
    stand_in = {**_STAND_IN, name: copy.deepcopy(node.default)}
    wrong = embedded.coerce(stand_in, Node({}), Path(), [], is_resource=True)
    if wrong is not None:
        return [field.invalid(path, node.default, f"must result in valid metadata: {wrong.text()}")]
    errors = embedded.validate_embedded(stand_in, Node({}), Path(), is_resource=True)
    if errors:
        return [field.invalid(path, node.default, f"must result in valid metadata: {field.aggregate(errors)}")]
    return checks.validate(node, node.default, path)


def _default_errors(node: Node, path: Path, *, require_pruned: bool, is_resource: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    value = copy.deepcopy(node.default)
    if require_pruned and pruning.prune_value(value, node, is_resource=node.embedded):
        errors.append(field.invalid(path, node.default, "must not have unknown fields"))
    value = copy.deepcopy(node.default)
    wrong = embedded.coerce(value, node, path, [], is_resource=node.embedded)
    if wrong is not None:
        return [*errors, wrong]
    more = embedded.validate_embedded(value, node, path, is_resource=node.embedded) or checks.validate(
        node, value, path
    )
    if more:
        return errors + more
    return errors + _rule_errors(compile_rules_at(node, is_resource=is_resource), value, path)


def _rule_errors(rules: Rules | None, value: Any, path: Path) -> list[FieldError]:
    """The default must pass both as an unchanged value and as a new one."""
    if rules is None:
        return []
    return rules.validate(value, value, None, path).errors or rules.validate(value, None, None, path).errors
