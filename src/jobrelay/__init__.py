"""Kubernetes batch work across many clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobrelay.lazy import lazy_exports

if TYPE_CHECKING:
    from .fleet import Fleet
    from .sdk import AsyncRelay, Relay

__version__ = "0.1.0"
__all__ = ["AsyncRelay", "Fleet", "Relay"]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, "sdk", "fleet")
