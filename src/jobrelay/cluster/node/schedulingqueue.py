"""Pods that wait for a node, grouped so that equal pods are tried once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jobrelay.cluster.node.nodeinfo import PodDemand
from jobrelay.kube.objects import Key


class EquivalenceClass(NamedTuple):
    """Pods that fit or fail together. `claims` are those that their volumes name."""

    priority: int
    demand: PodDemand
    preempts: bool = True
    claims: tuple[Key, ...] = ()


class SchedulingQueue:
    """Pending pods by equivalence class, in the order of their arrival within a class."""

    def __init__(self) -> None:
        self._members: dict[EquivalenceClass, dict[Key, None]] = {}
        self._classes: dict[Key, EquivalenceClass] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self._classes

    def __len__(self) -> int:
        return len(self._classes)

    def add(self, key: Key, group: EquivalenceClass) -> bool:
        """Queues a pod, or moves it to another class; returns whether anything changed."""
        if self._classes.get(key) == group:
            return False
        self.remove(key)
        self._classes[key] = group
        self._members.setdefault(group, {})[key] = None
        return True

    def remove(self, key: Key) -> None:
        group = self._classes.pop(key, None)
        if group is not None:
            members = self._members[group]
            members.pop(key, None)
            if not members:
                del self._members[group]

    def by_priority(self) -> Iterator[EquivalenceClass]:
        """The classes there are now, highest priority first."""
        return iter(sorted(self._members, key=lambda group: -group.priority))

    def members(self, group: EquivalenceClass) -> dict[Key, None]:
        """The pods of a class; empty if none is left."""
        return self._members.get(group, {})
