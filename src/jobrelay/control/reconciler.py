"""What a controller asks of the code it runs.

A reconciler is level-based: it is told which object to look at, never what happened to it, and makes the world match
whatever it finds. It must be safe to call again at any time. What it returns or raises decides what comes next:

    return None, or Result()            all is well; look again when something changes
    return Result(requeue_after=60)     all is well; look again in a minute even if nothing changes
    raise TerminalError("...")          trying again will not help; look again when something changes
    raise Conflict, or anything else    failed; look again soon, then later and later
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

__all__ = ["DONE", "Reconcile", "Result", "TerminalError"]

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Result:
    """A success, and whether to look again after a time."""

    requeue_after: float | None = None
    priority: int = 0


DONE = Result()


class TerminalError(Exception):
    """A failure that no retry can mend; the cause is chained or told."""


Reconcile: TypeAlias = Callable[[K], Awaitable[Result | None]]
