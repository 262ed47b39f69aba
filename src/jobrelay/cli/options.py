"""Building blocks of options: durations in the notation of Kubernetes, and groups of options as one value."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = ["duration_seconds", "option_group"]

F = TypeVar("F", bound=Callable[..., Any])


def duration_seconds(ctx: click.Context, param: click.Parameter, value: str) -> float:
    """Callback of an option (`90s`, `1h30m`); a number without a unit is refused, as in Kubernetes."""
    from jobrelay.apimachinery.times import TimeError, parse_duration

    try:
        found = parse_duration(value) / 1e9
    except TimeError:
        raise click.BadParameter(f"{value!r} is not a duration; write 90s, 15m or 1h30m, for example.") from None
    if found < 0:
        raise click.BadParameter(f"{value!r} is negative.")
    return found


def option_group(parameter: str, kind: type[Any], *options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Adds options to a command, which gets them as `parameter`, a dataclass with a field for each option."""
    names = [field.name for field in dataclasses.fields(kind)]

    def add(command: F) -> F:
        @functools.wraps(command)
        def wrapped(**given: Any) -> Any:
            value = kind(**{name: given.pop(name) for name in names if name in given})
            return command(**{parameter: value}, **given)

        for option in reversed(options):
            wrapped = option(wrapped)
        return wrapped  # type: ignore[return-value]

    return add
