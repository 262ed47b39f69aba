"""The policies in force: compiled once, and anew when a policy or a binding changes.

A policy without a binding is not in force. Which policies can match is found once for each resource and operation, so a
write that none of them is about costs one lookup.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from jobrelay.cluster.apiserver import represent
from jobrelay.cluster.apiserver.resources import ResourceTable, ServedResource
from jobrelay.cluster.store import Store
from jobrelay.kinds.admissionregistration.matching import GroupVersionResource

if TYPE_CHECKING:
    from jobrelay.kinds.admissionregistration.compiled import Binding, Hook, Policy

_GROUP: Final = "admissionregistration.k8s.io"
POLICIES: Final = f"validatingadmissionpolicies.{_GROUP}"
BINDINGS: Final = f"validatingadmissionpolicybindings.{_GROUP}"
_EXCLUDED: Final = frozenset({
    POLICIES, BINDINGS, f"mutatingadmissionpolicies.{_GROUP}", f"mutatingadmissionpolicybindings.{_GROUP}",
})  # fmt: skip
_Compiled = TypeVar("_Compiled")


class PolicyCache:
    """Follows the policies and bindings of one store."""

    def __init__(self, store: Store, resources: ResourceTable) -> None:
        self._store, self._resources = store, resources
        self._hooks: tuple[Hook, ...] | None = None
        self._policies: dict[str, tuple[bytes, Policy]] = {}
        self._bindings: dict[str, tuple[bytes, Binding]] = {}
        self._covered: dict[tuple[ServedResource, str, str], tuple[Hook, ...]] = {}
        self._served = -1  # the state of the resource table that `_covered` was made of
        for key in (POLICIES, BINDINGS):
            store.subscribe(key, lambda change: self._forget())

    def _forget(self) -> None:
        self._hooks, self._covered = None, {}

    def covering(self, served: ServedResource, subresource: str, operation: str) -> tuple[Hook, ...]:
        """The policies that may match such a request."""
        hooks = self._hooks
        if hooks is None:
            hooks = self._hooks = self._collect()
        if not hooks or served.key in _EXCLUDED:
            return ()
        if self._served != self._resources.changed:
            self._covered, self._served = {}, self._resources.changed
        key = (served, subresource, operation)
        found = self._covered.get(key)
        if found is None:
            found = self._covered[key] = self._find(hooks, served, subresource, operation)
        return found

    def _find(
        self, hooks: tuple[Hook, ...], served: ServedResource, subresource: str, operation: str
    ) -> tuple[Hook, ...]:
        others = self.equivalents(served, subresource)
        return tuple(
            hook for hook in hooks if hook.policy.criteria.covers(resource_of(served), subresource, operation, others)
        )

    def equivalents(self, served: ServedResource, subresource: str) -> list[GroupVersionResource]:
        """The other resources under which the same objects are served."""
        return [
            resource_of(other)
            for other in self._resources
            if other.key == served.key
            and (other.group, other.version) != (served.group, served.version)
            and (not subresource or subresource in other.subresources)
        ]

    def _collect(self) -> tuple[Hook, ...]:
        if not self._store.snapshot(BINDINGS, self._store.committed).items:
            return ()
        from jobrelay.kinds.admissionregistration.compiled import Binding, Hook, Policy

        self._policies = self._compiled(POLICIES, Policy, self._policies)
        self._bindings = self._compiled(BINDINGS, Binding, self._bindings)
        bound: dict[str, list[Binding]] = {}
        for _, binding in self._bindings.values():
            bound.setdefault(binding.policy, []).append(binding)
        return tuple(Hook(policy, tuple(bound[name])) for name, (_, policy) in self._policies.items() if name in bound)

    def _compiled(
        self, key: str, make: Callable[[Mapping[str, Any]], _Compiled], known: dict[str, tuple[bytes, _Compiled]]
    ) -> dict[str, tuple[bytes, _Compiled]]:
        """The objects of a resource by name; those that have not changed are not compiled again."""
        found = {}
        for item in self._store.snapshot(key, self._store.committed).walk(""):
            before = known.get(item.name)
            unchanged = before is not None and before[0] == item.raw
            found[item.name] = before if before and unchanged else (item.raw, make(represent.stored(item.raw)))
        return found


def resource_of(served: ServedResource) -> GroupVersionResource:
    return GroupVersionResource(served.group, served.version, served.plural)
