"""Errors of a local fleet."""

from __future__ import annotations

from jobrelay.operate.errors import OperateError

__all__ = ["FleetError"]


class FleetError(OperateError):
    """The fleet cannot start or cannot keep running."""
