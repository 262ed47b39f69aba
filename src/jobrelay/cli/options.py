"""Building blocks of options: durations as in Kubernetes, groups of options as one value, and help in sections."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

__all__ = ["SectionedCommand", "duration_seconds", "option_group", "optional_seconds", "size_bytes"]

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


def optional_seconds(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """The same for an option that need not be given."""
    return None if value is None else duration_seconds(ctx, param, value)


def size_bytes(ctx: click.Context, param: click.Parameter, value: str) -> int:
    """Callback of an option that is a number of bytes, as a quantity of Kubernetes (`64Ki`)."""
    from jobrelay.apimachinery.quantity import number

    try:
        found = number(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a size; write 16Ki or 64Mi, for example.") from None
    if found < 0:
        raise click.BadParameter(f"{value!r} is negative.")
    return int(found)


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


class SectionedCommand(click.Command):
    """A command whose help lists options in sections; `sections` maps a heading to the names of parameters."""

    def __init__(self, *args: Any, sections: Mapping[str, Sequence[str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._sections = sections

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        placed = {name: heading for heading, names in self._sections.items() for name in names}
        records: dict[str, list[tuple[str, str]]] = {heading: [] for heading in (*self._sections, "Other options")}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)) is not None:
                records[placed.get(param.name or "", "Other options")].append(record)
        for heading, found in records.items():
            with formatter.section(heading):
                formatter.write_dl(found)
