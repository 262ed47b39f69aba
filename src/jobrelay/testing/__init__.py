"""Embedded clusters and fleets for pytest: the fixtures `jobrelay_cluster` and `jobrelay_fleet`.

Installing jobrelay is enough: pytest finds `jobrelay.testing.plugin` by its entry point. The classes here are what the
fixtures return, for annotations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobrelay.lazy import lazy_exports

if TYPE_CHECKING:
    from .embedded import EmbeddedCluster, EmbeddedFleet

__all__ = ["EmbeddedCluster", "EmbeddedFleet"]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, "embedded")
