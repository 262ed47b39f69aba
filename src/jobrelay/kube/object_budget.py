"""Bounds what the caches of one server may hold together, since the server alone decides what it sends."""

from __future__ import annotations

from collections.abc import Collection

from .errors import KubeError
from .objects import Object

__all__ = ["BudgetExceeded", "ObjectBudget", "StateBudget"]


class BudgetExceeded(KubeError):
    """A server has more or larger objects than are held for it."""


class ObjectBudget:
    """Counts objects and their bytes, and refuses those beyond the bounds; `what` names the objects in errors."""

    def __init__(self, what: str, *, max_objects: int, max_bytes: int, max_object_bytes: int) -> None:
        self._what = what
        self._max_objects, self._max_bytes, self._max_object_bytes = max_objects, max_bytes, max_object_bytes
        self.objects = 0
        self.bytes = 0

    def count(self, old: Object | None, new: Object | None) -> None:
        """Apply a change of one of the caches."""
        self.objects += (new is not None) - (old is not None)
        self.bytes += (len(new.raw) if new is not None else 0) - (len(old.raw) if old is not None else 0)

    def admit(self, obj: Object, held: Object | None) -> None:
        """Raise BudgetExceeded if there is no room for an object in the place of `held`."""
        self._check_size(obj)
        self._check(
            self.objects + (held is None), self.bytes + len(obj.raw) - (len(held.raw) if held is not None else 0)
        )

    def has_room(self, obj: Object, held: Object | None) -> bool:
        """Whether an object can be held in the place of `held`."""
        try:
            self.admit(obj, held)
        except BudgetExceeded:
            return False
        return True

    def admit_state(self, objects: Collection[Object], held: Collection[Object]) -> None:
        """Raise BudgetExceeded if there is no room for a whole state in the place of another one."""
        size = sum(len(obj.raw) for obj in objects) - sum(len(obj.raw) for obj in held)
        self._check(self.objects + len(objects) - len(held), self.bytes + size)

    def reading(self) -> StateBudget:
        """For a whole state that is read before it replaces another one: bounded as if nothing else were held."""
        return StateBudget(self)

    def _check(self, objects: int, size: int) -> None:
        if objects > self._max_objects:
            raise BudgetExceeded(f"it has more than {self._max_objects} {self._what}")
        if size > self._max_bytes:
            raise BudgetExceeded(f"its {self._what} take more than {self._max_bytes} bytes")

    def _check_size(self, obj: Object) -> None:
        if len(obj.raw) > self._max_object_bytes:
            size = f"{len(obj.raw)} bytes, and at most {self._max_object_bytes} are held"
            raise BudgetExceeded(f"one of its {self._what}, {obj.key}, has {size}")


class StateBudget:
    """Counts the objects of one state while it is read."""

    def __init__(self, budget: ObjectBudget) -> None:
        self._budget = budget
        self._objects = self._bytes = 0

    def admit(self, obj: Object) -> None:
        self._objects += 1
        self._bytes += len(obj.raw)
        self._budget._check_size(obj)
        self._budget._check(self._objects, self._bytes)
