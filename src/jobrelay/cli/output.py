"""Prints lists on stdout: as columns, like kubectl, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import click

from jobrelay.cli.colours import state

F = TypeVar("F", bound=Callable[..., Any])
_STATES: Final = frozenset({"status", "state", "type", "result", "active"})
"""The columns whose cells are states."""


def output_option(*formats: str, help: str = "Output format.") -> Callable[[F], F]:
    """The option `-o`; the first format is the default."""
    return click.option("-o", "--output", type=click.Choice(formats), default=formats[0], show_default=True, help=help)


def print_data(value: Any, output: str) -> None:
    """Prints a value as JSON or YAML."""
    if output == "json":
        click.echo(json.dumps(value, indent=2))
        return
    import yaml

    click.echo(yaml.safe_dump(value, sort_keys=False, allow_unicode=True), nl=False)


def print_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], output: str) -> None:
    """Prints rows; `columns` are the keys that a table shows, and `-o name` shows the key "name"."""
    if output == "json":
        click.echo(json.dumps(list(rows), indent=2))
    elif output == "name":
        for row in rows:
            click.echo(row["name"])
    else:
        print_table(rows, columns)


def print_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], *, widest: int | None = None) -> None:
    """Prints the given keys of rows as columns with headings; cells longer than `widest` are truncated."""
    heads = [column.upper() for column in columns]
    cells = [[_cut(_cell(row[column]), widest) for column in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    click.echo(table_line(heads, heads, widths))
    for row in cells:
        click.echo(table_line(columns, row, widths))


def table_line(columns: Sequence[str], cells: Sequence[str], widths: Sequence[int]) -> str:
    """One line of a table; states are in colour, which has no width."""
    shown = [state(cell) if column in _STATES else cell for column, cell in zip(columns, cells, strict=True)]
    padding = [" " * (width - len(cell)) for cell, width in zip(cells, widths, strict=True)]
    return "   ".join(map("".join, zip(shown, padding, strict=True))).rstrip()


def _cut(text: str, widest: int | None) -> str:
    return text if widest is None or len(text) <= widest else f"{text[: widest - 3].rstrip()}..."


def _cell(value: Any) -> str:
    return "-" if value is None else str(value)
