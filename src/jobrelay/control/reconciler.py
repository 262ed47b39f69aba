"""What a reconcile function returns or raises.

A reconcile function gets the key of an object, not what happened to it, and makes the actual state match the desired
one. It must be safe to call at any time. Its outcome decides when it is called again:

    return None, or Result()            after the next change
    return Result(requeue_after=60)     after the next change, or in a minute
    raise TerminalError("...")          after the next change; a retry would not help
    raise Conflict, or anything else    after a delay that grows with each failure, or that the server asked for
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

__all__ = ["DONE", "Reconcile", "Result", "TerminalError"]

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Result:
    """A success; with `requeue_after`, the key is reconciled again after that many seconds."""

    requeue_after: float | None = None
    priority: int = 0


DONE = Result()


class TerminalError(Exception):
    """A failure that a retry cannot fix; the text or the chained exception is the cause."""


Reconcile: TypeAlias = Callable[[K], Awaitable[Result | None]]
