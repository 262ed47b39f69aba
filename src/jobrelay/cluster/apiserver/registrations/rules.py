"""Which requests the rules of admission policies and webhooks are about.

A `RuleWithOperations` names operations, groups, versions, resources and a scope. It is
compiled once, and then asked about requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple


class GroupVersionResource(NamedTuple):
    group: str
    version: str
    resource: str


class MatchAttributes(NamedTuple):
    """What rules look at. The namespace of a request about a namespace is that namespace's own name."""

    resource: GroupVersionResource
    subresource: str
    operation: str
    namespace: str = ""


_NAMESPACES: Final = GroupVersionResource("", "v1", "namespaces")


def _set(values: Sequence[str] | None) -> frozenset[str]:
    return frozenset(values or ())


def _has(values: frozenset[str], value: str) -> bool:
    return value in values or "*" in values


class ResourceRule:
    """A compiled RuleWithOperations."""

    __slots__ = ("_groups", "_operations", "_resources", "_scope", "_versions")

    def __init__(self, rule: Mapping[str, Any]) -> None:
        self._operations, self._groups = _set(rule.get("operations")), _set(rule.get("apiGroups"))
        self._versions, self._scope = _set(rule.get("apiVersions")), rule.get("scope") or "*"
        self._resources = [entry.partition("/")[::2] for entry in rule.get("resources") or ()]

    def covers(self, resource: GroupVersionResource, subresource: str, operation: str) -> bool:
        """Whether some request of this kind can match."""
        return (
            _has(self._operations, operation)
            and _has(self._groups, resource.group)
            and _has(self._versions, resource.version)
            and any(wanted in ("*", resource.resource) and sub in ("*", subresource) for wanted, sub in self._resources)
        )

    def matches(self, attributes: MatchAttributes, resource: GroupVersionResource) -> bool:
        """Whether a request matches when it is taken as one of `resource`."""
        return self.covers(resource, attributes.subresource, attributes.operation) and self._in_scope(
            attributes, resource
        )

    def _in_scope(self, attributes: MatchAttributes, resource: GroupVersionResource) -> bool:
        if self._scope == "*":
            return True
        namespaced = resource != _NAMESPACES and bool(attributes.namespace)
        return namespaced is (self._scope == "Namespaced")
