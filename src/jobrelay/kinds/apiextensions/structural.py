"""A version's schema, compiled once: prune, default and validate the objects of a custom resource.

A schema of a big CustomResourceDefinition is more than a megabyte of YAML, of which any one object touches little. A
`StructuralSchema` therefore wraps the schema's own dict and makes its children when they are first visited; the checks
of `checks.py` are compiled per node in the same way. Making a `Structural` costs one scan that looks for CEL rules and
defaults.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]
_NO_CHILDREN: dict[str, Any] = {}


class StructuralSchema:
    """One place in a structural schema. `schema` is the JSONSchemaProps dict, which is never changed."""

    __slots__ = (
        "_children", "_items", "_mentions", "_values", "checks", "default", "embedded", "list_type", "map_keys",
        "nullable",
        "preserve", "resource", "schema", "spellings", "type",
    )  # fmt: skip

    def __init__(self, schema: Schema) -> None:
        get = schema.get
        self.schema = schema
        self.type: str = get("type", "")
        self.nullable: bool = get("nullable", False)
        self.default: Any = get("default")
        self.preserve: bool = get("x-kubernetes-preserve-unknown-fields", False)
        self.embedded: bool = get("x-kubernetes-embedded-resource", False)
        self.list_type: str = get("x-kubernetes-list-type", "")
        self.map_keys: list[str] = get("x-kubernetes-list-map-keys") or []
        self.checks: Any = None
        self.resource: StructuralSchema | None = None
        self.spellings: dict[str, str] | None = None  # properties by their names in CEL, when CEL has asked for them
        self._children: dict[str, StructuralSchema] = {}
        self._items: StructuralSchema | None = None
        self._values: StructuralSchema | None = None
        self._mentions: dict[str, bool] = {}

    def named(self, name: str) -> StructuralSchema | None:
        """The node of a named property, or None when the schema does not specify it."""
        node = self._children.get(name)
        if node is None:
            schema = self.schema.get("properties", _NO_CHILDREN).get(name)
            if schema is not None:
                node = self._children[name] = StructuralSchema(schema)
        return node

    @property
    def items(self) -> StructuralSchema | None:
        if self._items is None and isinstance(self.schema.get("items"), dict):
            self._items = StructuralSchema(self.schema["items"])
        return self._items

    @property
    def has_additional(self) -> bool:
        return "additionalProperties" in self.schema

    @property
    def values(self) -> StructuralSchema | None:
        """The node of additionalProperties when it is a schema."""
        if self._values is None and isinstance(self.schema.get("additionalProperties"), dict):
            self._values = StructuralSchema(self.schema["additionalProperties"])
        return self._values

    def child(self, name: str) -> StructuralSchema | None:
        """The node of a key: a named property, else the schema of additional ones."""
        return self.named(name) or self.values

    def mentions(self, keyword: str) -> bool:
        """Whether a keyword is used here or anywhere below, so that walks for it can be skipped. Scans once."""
        found = self._mentions.get(keyword)
        if found is None:
            found = self._mentions[keyword] = _mentions(self.schema, keyword)
        return found


def _mentions(schema: Schema, keyword: str) -> bool:
    if keyword in schema:
        return True
    if any(_mentions(child, keyword) for child in (schema.get("properties") or _NO_CHILDREN).values()):
        return True
    return any(
        isinstance(schema.get(key), dict) and _mentions(schema[key], keyword)
        for key in ("items", "additionalProperties")
    )
