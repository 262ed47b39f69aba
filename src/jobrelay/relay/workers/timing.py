"""Timeouts and intervals of the connection to a worker."""

from __future__ import annotations

from typing import NamedTuple

from jobrelay.relay.settings import SUSPECT_AFTER


class Timing(NamedTuple):
    """In seconds."""

    quiet: float = 2.5
    """Silence after which a heartbeat is requested of a worker that has mirrors."""
    idle_quiet: float = 15.0
    """Silence after which a heartbeat is requested of one that has none."""
    suspect: float = SUSPECT_AFTER
    """How long requests may be unanswered before a heartbeat is requested, and the worker gets nothing new."""
    answer: float = 5.0
    """Timeout of a heartbeat."""
    identify: float = 4.0
    """Timeout of each request that asks a worker who it is."""
    silence: float = 150.0
    """How long one watch may be silent, while the worker answers otherwise, before it is reopened."""
    sync: float = 120.0
    """Time from the start of a session until all mirrors must be known."""
    unavailable: float = 300.0
    """When a kind that could not be read is tried again."""
    longest_pause: float = 4.0
    """The longest pause between two attempts to connect: a worker that returns is used within five seconds."""


DEFAULT_TIMING = Timing()
