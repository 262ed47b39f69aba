"""How patient the relay is with a worker."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["PATIENT", "Timing"]


class Timing(NamedTuple):
    """All in seconds."""

    quiet: float = 15.0
    """Silence after which a sign of life is asked for."""
    answer: float = 5.0
    """How long that may take."""
    silence: float = 150.0
    """How long one watch may be quiet while the worker gives other signs of life, before it is opened anew."""
    sync: float = 120.0
    """How long it may take from the first contact until every mirror is known."""
    unavailable: float = 300.0
    """When a kind that was not to be had is tried again."""
    longest_pause: float = 30.0
    """The most between two tries to connect."""


PATIENT = Timing()
