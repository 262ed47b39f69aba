"""What is wrong with the input of a plan, and how to mend it."""

from __future__ import annotations


class PlanError(ValueError):
    """A fleet file, a trace or an option that cannot be used."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint
