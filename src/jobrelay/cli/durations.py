"""Durations on the command line, written as Kubernetes writes them: `90s`, `15m`, `1h30m`."""

from __future__ import annotations

import click

__all__ = ["seconds"]


def seconds(ctx: click.Context, param: click.Parameter, value: str) -> float:
    """The callback of an option; a number alone has no unit and is refused, as everywhere in Kubernetes."""
    from jobrelay.apimachinery.times import TimeError, parse_duration

    try:
        found = parse_duration(value) / 1e9
    except TimeError:
        raise click.BadParameter(f"{value!r} is not a duration; write it as 90s, 15m or 1h30m.") from None
    if found < 0:
        raise click.BadParameter(f"{value!r} is negative.")
    return found
