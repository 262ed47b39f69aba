"""How an object of a kind is suspended and resumed."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from jobrelay.kube.resource import JOBS
from jobrelay.workloads import Adapter


@runtime_checkable
class Suspendable(Protocol):
    """An adapter of a kind whose objects can be suspended."""

    def suspension_patch(self, *, suspend: bool) -> dict[str, Any] | None:
        """A merge patch that suspends an object or lets it run; None if its kind cannot be suspended."""
        ...


def suspension_patch(adapter: Adapter, *, suspend: bool) -> dict[str, Any] | None:
    """A merge patch that suspends an object or lets it run; None if its kind cannot be suspended."""
    if adapter.resource == JOBS:
        return {"spec": {"suspend": suspend}}
    return adapter.suspension_patch(suspend=suspend) if isinstance(adapter, Suspendable) else None
