"""Durations on the command line, in the notation of Kubernetes: `90s`, `15m`, `1h30m`."""

from __future__ import annotations

import click

__all__ = ["duration_seconds"]


def duration_seconds(ctx: click.Context, param: click.Parameter, value: str) -> float:
    """Callback of an option; a number without a unit is refused, as in Kubernetes."""
    from jobrelay.apimachinery.times import TimeError, parse_duration

    try:
        found = parse_duration(value) / 1e9
    except TimeError:
        raise click.BadParameter(f"{value!r} is not a duration; write 90s, 15m or 1h30m, for example.") from None
    if found < 0:
        raise click.BadParameter(f"{value!r} is negative.")
    return found
