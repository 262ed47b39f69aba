"""Errors of tasks."""

from __future__ import annotations

__all__ = ["TaskError", "Unsupported"]


class TaskError(Exception):
    """Tasks could not be started, stopped or listed; it is tried again, and the text is shown as an Event."""


class Unsupported(Exception):
    """The Job asks for something that tasks do not have; the text says what."""
