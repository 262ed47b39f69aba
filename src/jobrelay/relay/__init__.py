"""The relay: delegated workloads run on worker clusters, and their status comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobrelay.lazy import lazy_exports

if TYPE_CHECKING:
    from .relay import RelayManager, find_origin
    from .settings import Settings

__all__ = ["RelayManager", "Settings", "find_origin"]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, "settings", "relay")
