"""Adapters that are made when they are used.

Commands choose among all kinds by name, and then read objects of one or a few: making the other adapters, and importing
what they are made of, would take longer than the rest. The relay uses all of them, so it makes them at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, cast

from jobrelay.kube.resource import Resource
from jobrelay.workloads.adapter import Adapter

__all__ = ["deferred_adapter"]


def deferred_adapter(resource: Resource, make: Callable[[], Adapter], reader: object = None) -> Adapter:
    """The adapter of a kind that `make` makes when anything is asked that neither `resource` nor `reader` has."""
    return cast("Adapter", _Deferred(resource, make, reader))


class _Deferred:
    def __init__(self, resource: Resource, make: Callable[[], Adapter], reader: object) -> None:
        self.resource = resource
        self._make, self._reader = make, reader

    @cached_property
    def _real(self) -> Adapter:
        return self._make()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader if hasattr(self._reader, name) else self._real, name)
