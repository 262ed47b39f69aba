"""Which requests the rules of admission policies and webhooks are about.

A `RuleWithOperations` names operations, groups, versions, resources and a scope; policies add names of objects. What an
object says is compiled once (`MatchCriteria`), and then asked about each request: `covers` for what is the same for
all requests of one resource and operation, `match` for one request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from jobrelay.apimachinery.selectors import Selector, selector_from_object

Labels = Mapping[str, str]


class GroupVersionResource(NamedTuple):
    group: str
    version: str
    resource: str


class MatchAttributes(NamedTuple):
    """What rules match on. The namespace of a request about a namespace is that namespace's own name."""

    resource: GroupVersionResource
    subresource: str
    operation: str
    namespace: str = ""
    name: str = ""


_NAMESPACES: Final = GroupVersionResource("", "v1", "namespaces")


def _set(values: Sequence[str] | None) -> frozenset[str]:
    return frozenset(values or ())


def _has(values: frozenset[str], value: str) -> bool:
    return value in values or "*" in values


class ResourceRule:
    """A compiled RuleWithOperations; `names` are those of a policy's rule, none for any name."""

    __slots__ = ("_groups", "_operations", "_resources", "_scope", "_versions", "names")

    def __init__(self, rule: Mapping[str, Any]) -> None:
        self._operations, self._groups = _set(rule.get("operations")), _set(rule.get("apiGroups"))
        self._versions, self._scope = _set(rule.get("apiVersions")), rule.get("scope") or "*"
        self._resources = [entry.partition("/")[::2] for entry in rule.get("resources") or ()]
        self.names = _set(rule.get("resourceNames"))

    def covers(self, resource: GroupVersionResource, subresource: str, operation: str) -> bool:
        """Whether some request of this kind can match."""
        return (
            _has(self._operations, operation)
            and _has(self._groups, resource.group)
            and _has(self._versions, resource.version)
            and any(wanted in ("*", resource.resource) and sub in ("*", subresource) for wanted, sub in self._resources)
        )

    def matches(self, attributes: MatchAttributes, resource: GroupVersionResource) -> bool:
        """Whether a request matches when it is taken as one of `resource`, regardless of names."""
        return self.covers(resource, attributes.subresource, attributes.operation) and self._in_scope(
            attributes, resource
        )

    def _in_scope(self, attributes: MatchAttributes, resource: GroupVersionResource) -> bool:
        if self._scope == "*":
            return True
        namespaced = resource != _NAMESPACES and bool(attributes.namespace)
        return namespaced is (self._scope == "Namespaced")


class MatchCriteria:
    """Compiled rules and selectors: the MatchResources of a policy, or what a webhook has of them.

    No rules match every request: a binding without rules restricts nothing. `exact`: requests of other versions of the
    same resource do not match.
    """

    __slots__ = ("_exact", "_excluded", "_namespaces", "_objects", "_rules")

    def __init__(
        self,
        rules: Sequence[Mapping[str, Any]],
        *,
        excluded: Sequence[Mapping[str, Any]] = (),
        exact: bool = False,
        namespaces: Selector,
        objects: Selector,
    ) -> None:
        self._rules, self._excluded = [ResourceRule(rule) for rule in rules], [ResourceRule(rule) for rule in excluded]
        self._exact, self._namespaces, self._objects = exact, namespaces, objects

    def covers(
        self,
        resource: GroupVersionResource,
        subresource: str,
        operation: str,
        equivalents: Sequence[GroupVersionResource],
    ) -> bool:
        """Whether some request of this kind can match, whatever its object, its name and its namespace are."""
        taken_as = (resource,) if self._exact else (resource, *equivalents)
        return not self._rules or any(
            rule.covers(one, subresource, operation) for rule in self._rules for one in taken_as
        )

    def match(
        self,
        attributes: MatchAttributes,
        equivalents: Sequence[GroupVersionResource],
        namespace_labels: Callable[[], Labels | None],
        objects: Sequence[Mapping[str, Any]],
    ) -> GroupVersionResource | None:
        """The resource as which a request matches; None when it does not.

        `equivalents` are the other resources under which the objects of this one are served, `namespace_labels` finds
        the labels of the request's namespace, and `objects` are the new and the old object, as far as there are any.
        """
        if not self._selects_namespace(attributes, namespace_labels) or not self._selects_object(objects):
            return None
        if self._find(self._excluded, attributes, equivalents) is not None:
            return None
        return self._find(self._rules, attributes, equivalents) if self._rules else attributes.resource

    def _selects_namespace(self, attributes: MatchAttributes, namespace_labels: Callable[[], Labels | None]) -> bool:
        if self._namespaces.empty or (not attributes.namespace and attributes.resource.resource != "namespaces"):
            return True
        return self._namespaces.matches(namespace_labels())

    def _selects_object(self, objects: Sequence[Mapping[str, Any]]) -> bool:
        if self._objects.empty:
            return True
        return any(self._objects.matches((obj.get("metadata") or {}).get("labels")) for obj in objects)

    def _find(
        self,
        rules: Sequence[ResourceRule],
        attributes: MatchAttributes,
        equivalents: Sequence[GroupVersionResource],
    ) -> GroupVersionResource | None:
        resource, name = attributes.resource, attributes.name
        for rule in rules:
            if rule.matches(attributes, resource) and (not rule.names or name in rule.names):
                return resource
        for rule in () if self._exact else rules:
            for equivalent in equivalents:
                if rule.matches(attributes, equivalent) and (not rule.names or name in rule.names):
                    return equivalent
        return None


def match_criteria(match: Mapping[str, Any]) -> MatchCriteria:
    """The criteria of a policy's or a binding's MatchResources."""
    return MatchCriteria(
        match.get("resourceRules") or (),
        excluded=match.get("excludeResourceRules") or (),
        exact=match.get("matchPolicy") == "Exact",
        namespaces=selector_from_object(match.get("namespaceSelector") or {}),
        objects=selector_from_object(match.get("objectSelector") or {}),
    )
