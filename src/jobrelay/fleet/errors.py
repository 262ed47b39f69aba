"""What keeps a fleet from working."""

from __future__ import annotations

__all__ = ["FleetError"]


class FleetError(Exception):
    """Says what is wrong and, where there is one, what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint
