"""Errors of working with a relay as one of its users."""

from __future__ import annotations

from jobrelay.operate.errors import OperateError

__all__ = ["RelayError", "WaitTimeout"]


class RelayError(OperateError):
    """Something that cannot be done for a workload; `hint`, if any, says how to solve the problem."""


class WaitTimeout(RelayError):
    """A workload has not ended within the time."""
