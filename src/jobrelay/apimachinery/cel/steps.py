"""The parts of a program: steps, which evaluate one node each, and the frame that they share.

What an evaluation costs is counted as the Go engine counts it. There a value is charged when it has been computed, an
error is a value too, and what follows an error is still computed and charged. Here most of the cost is charged ahead:
`EvalStep.cost` is what a step costs whatever the values are, and whoever runs the step charges it, for a whole
expression at once where nothing is conditional. A step adds what depends on values itself, and takes back what an error
has skipped.

Cost does not bound time: some work is free, such as the rounds of a filter that is always false. Who evaluates can set
`INTERRUPT`, which is called at the start of a program and every now and then in loops, and raises what is to end it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

from jobrelay.apimachinery.cel.values import CelError

Frame = list[Any]  # the cost so far, the interrupt, then the variables
Eval = Callable[[Frame], Any]
CALL_LIMIT: Final = 1_000_000
INTERRUPT: Final[ContextVar[Callable[[], None] | None]] = ContextVar("INTERRUPT", default=None)


class CostExceeded(Exception):
    """An evaluation costs too much. Not a CelError, because no operator ignores it."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class EvalStep(NamedTuple):
    """How a node is evaluated, what this costs at least, and whether it is a constant or just a variable's slot."""

    run: Eval
    cost: int = 0
    constant: bool = False
    slot: int = 0


def constant(value: Any) -> EvalStep:
    return EvalStep(lambda frame: value, constant=True)


def charge(frame: Frame, cost: int) -> None:
    frame[0] += cost
    if frame[0] > CALL_LIMIT:
        raise CostExceeded


def as_bool(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    raise CelError("no such overload")
