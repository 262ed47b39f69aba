"""Errors of operations on clusters."""

from __future__ import annotations

__all__ = ["OperateError"]


class OperateError(Exception):
    """An operation that cannot be carried out; `hint`, if any, says how to solve the problem."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint
