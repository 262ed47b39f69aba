"""The policies in force: compiled once, and anew when a policy or a binding changes.

A policy without a binding is not in force. Which policies can match is found once for each resource and operation, so a
write that none of them is about costs one lookup.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from jobrelay.cluster.apiserver import represent
from jobrelay.cluster.apiserver.resources import ResourceTable, ServedResource
from jobrelay.cluster.store import Change, Item, Store
from jobrelay.kinds.admissionregistration.matching import GroupVersionResource

if TYPE_CHECKING:
    from jobrelay.kinds.admissionregistration.compiled import Binding, Hook, Policy

_GROUP: Final = "admissionregistration.k8s.io"
POLICIES: Final = f"validatingadmissionpolicies.{_GROUP}"
BINDINGS: Final = f"validatingadmissionpolicybindings.{_GROUP}"
_EXCLUDED: Final = frozenset({
    POLICIES, BINDINGS, f"mutatingadmissionpolicies.{_GROUP}", f"mutatingadmissionpolicybindings.{_GROUP}",
    "selfsubjectreviews.authentication.k8s.io", "tokenreviews.authentication.k8s.io",
    "localsubjectaccessreviews.authorization.k8s.io", "selfsubjectaccessreviews.authorization.k8s.io",
    "selfsubjectrulesreviews.authorization.k8s.io", "subjectaccessreviews.authorization.k8s.io",
})  # fmt: skip
_Compiled = TypeVar("_Compiled")


class _InForce:
    """The policies in force at one time, and which of them cover what, by the state of the resource table too.

    A change makes a new one, so that another thread cannot bring back what it has found out before.
    """

    def __init__(self, hooks: tuple[Hook, ...]) -> None:
        self.hooks = hooks
        self.covering: dict[tuple[ServedResource, str, str, int], tuple[Hook, ...]] = {}


class PolicyCache:
    """Follows the policies and bindings of one store. Other threads may ask it, too."""

    def __init__(self, store: Store, resources: ResourceTable) -> None:
        self._resources = resources
        self._policies: dict[str, Policy] = {}
        self._bindings: dict[str, Binding] = {}
        for key, changed in ((POLICIES, self._policy_changed), (BINDINGS, self._binding_changed)):
            store.subscribe(key, changed)
        for item in store.snapshot(POLICIES, store.committed).walk(""):
            self._policies[item.name] = _policy(item)
        for item in store.snapshot(BINDINGS, store.committed).walk(""):
            self._bindings[item.name] = _binding(item)
        self._in_force = _InForce(self._hooks())

    def _policy_changed(self, change: Change) -> None:
        _replace(self._policies, change, _policy)
        self._in_force = _InForce(self._hooks())

    def _binding_changed(self, change: Change) -> None:
        _replace(self._bindings, change, _binding)
        self._in_force = _InForce(self._hooks())

    def _hooks(self) -> tuple[Hook, ...]:
        if not self._policies or not self._bindings:
            return ()
        from jobrelay.kinds.admissionregistration.compiled import Hook

        bound: dict[str, list[Binding]] = {}
        for _, binding in sorted(self._bindings.items()):
            bound.setdefault(binding.policy, []).append(binding)
        return tuple(
            Hook(policy, tuple(bound[name])) for name, policy in sorted(self._policies.items()) if name in bound
        )

    @property
    def any(self) -> bool:
        """Whether a policy is in force."""
        return bool(self._in_force.hooks)

    def covering(self, served: ServedResource, subresource: str, operation: str) -> tuple[Hook, ...]:
        """The policies that may match such a request."""
        in_force = self._in_force
        if not in_force.hooks or served.key in _EXCLUDED:
            return ()
        key = (served, subresource, operation, self._resources.changed)
        found = in_force.covering.get(key)
        if found is None:
            others = self.equivalents(served, subresource)
            found = in_force.covering[key] = tuple(
                hook
                for hook in in_force.hooks
                if hook.policy.criteria.covers(resource_of(served), subresource, operation, others)
            )
        return found

    def equivalents(self, served: ServedResource, subresource: str) -> list[GroupVersionResource]:
        """The other resources under which the same objects are served."""
        return [
            resource_of(other)
            for other in self._resources
            if other.key == served.key
            and (other.group, other.version) != (served.group, served.version)
            and (not subresource or subresource in other.subresources)
        ]


def _replace(known: dict[str, _Compiled], change: Change, compile_: Callable[[Item], _Compiled]) -> None:
    if change.after is not None:
        known[change.after.name] = compile_(change.after)
    elif change.before is not None:
        known.pop(change.before.name, None)


def _policy(item: Item) -> Policy:
    from jobrelay.kinds.admissionregistration.compiled import Policy

    return Policy(represent.stored(item.raw))


def _binding(item: Item) -> Binding:
    from jobrelay.kinds.admissionregistration.compiled import Binding

    return Binding(represent.stored(item.raw))


def resource_of(served: ServedResource) -> GroupVersionResource:
    return GroupVersionResource(served.group, served.version, served.plural)
