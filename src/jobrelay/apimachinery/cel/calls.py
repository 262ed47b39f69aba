"""Calls of functions, with their cost.

All arguments are evaluated, also after an error in one of them, which then is the result. A function with a list of
arguments (three or more, or a pattern that was compiled ahead) stops at the first error instead, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jobrelay.apimachinery.cel.runtimecost import FAILED, CallCost
from jobrelay.apimachinery.cel.steps import CALL_LIMIT, CostExceeded, Eval, EvalStep, Frame, charge
from jobrelay.apimachinery.cel.values import CelError

Impl = Callable[..., Any]


def call(impl: Impl, args: list[EvalStep], cost: CallCost, *, stops_at_errors: bool = False) -> EvalStep:
    """The step that evaluates the arguments and calls the function."""
    if stops_at_errors and len(args) == 2:
        run = _with_constant(_priced(impl, cost), args, cost.fixed)
    elif stops_at_errors or len(args) > 2:
        run = _sequence(_priced(impl, cost), args, cost)
    elif not args:
        run = lambda frame: impl()  # noqa: E731
    elif cost.fixed:
        run = _unary(impl, args[0].run) if len(args) == 1 else _binary(impl, args)
    else:
        run = _priced_unary(impl, args[0].run, cost) if len(args) == 1 else _priced_binary(impl, args, cost)
    return EvalStep(run, sum(arg.cost for arg in args) + cost.fixed)


def attempt(run: Eval, frame: Frame) -> Any:
    """Evaluates for the sake of the cost."""
    try:
        return run(frame)
    except CelError:
        return FAILED


def _unary(impl: Impl, only: Eval) -> Eval:
    return lambda frame: impl(only(frame))


def _priced_unary(impl: Impl, only: Eval, cost: CallCost) -> Eval:
    invoke = _priced(impl, cost)

    def run(frame: Frame) -> Any:
        try:
            value = only(frame)
        except CelError:
            frame[0] += _after_error(cost, FAILED)
            raise
        return invoke(frame, value)

    return run


def _binary(impl: Impl, args: list[EvalStep]) -> Eval:
    first, second = args[0].run, args[1].run
    if args[1].constant:
        return lambda frame: impl(first(frame), second(frame))

    def run(frame: Frame) -> Any:
        try:
            value = first(frame)
        except CelError:
            attempt(second, frame)
            raise
        return impl(value, second(frame))

    return run


def _priced_binary(impl: Impl, args: list[EvalStep], cost: CallCost) -> Eval:
    first, second, invoke, of_args = args[0].run, args[1].run, _priced(impl, cost), cost.of_args

    def run(frame: Frame) -> Any:
        try:
            a = first(frame)
        except CelError:
            charge(frame, _after_error(cost, FAILED, attempt(second, frame)))
            raise
        try:
            b = second(frame)
        except CelError:
            charge(frame, _after_error(cost, a, FAILED))
            raise
        if of_args is None:
            return invoke(frame, a, b)
        frame[0] += of_args(a, b)
        if frame[0] > CALL_LIMIT:
            raise CostExceeded
        return impl(a, b)

    return run


def _with_constant(invoke: Impl, args: list[EvalStep], fixed: int) -> Eval:
    first, second = args[0].run, args[1].run([0])

    def run(frame: Frame) -> Any:
        try:
            value = first(frame)
        except CelError:
            frame[0] -= fixed
            raise
        return invoke(frame, value, second)

    return run


def _sequence(invoke: Impl, args: list[EvalStep], cost: CallCost) -> Eval:
    rests = [sum(later.cost for later in args[at + 1 :]) + cost.fixed for at in range(len(args))]
    links = [(arg.run, rest) for arg, rest in zip(args, rests, strict=True)]

    def run(frame: Frame) -> Any:
        values: list[Any] = []
        for evaluate, rest in links:
            try:
                values.append(evaluate(frame))
            except CelError:
                frame[0] -= rest
                if len(values) == len(links) - 1:
                    frame[0] += cost.fixed + _after_error(cost, *values, FAILED)
                raise
        return invoke(frame, *values)

    return run


def _priced(impl: Impl, cost: CallCost) -> Impl:
    """Calls a function and charges what depends on values: before the work where possible."""
    of_args, of_result = cost.of_args, cost.of_result
    if of_args is not None:

        def charged_before(frame: Frame, *values: Any) -> Any:
            charge(frame, of_args(*values))
            return impl(*values)

        return charged_before
    if of_result is None:
        return lambda frame, *values: impl(*values)

    def charged_after(frame: Frame, *values: Any) -> Any:
        try:
            made = impl(*values)
        except CelError:
            charge(frame, of_result(FAILED))
            raise
        charge(frame, of_result(made))
        return made

    return charged_after


def _after_error(cost: CallCost, *values: Any) -> int:
    """What a call costs beside its fixed part when an argument is an error, and so the result."""
    if cost.of_args is not None:
        return cost.of_args(*values)
    return cost.of_result(FAILED) if cost.of_result is not None else 0
