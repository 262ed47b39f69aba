"""Shared by the commands that define custom kinds: reading the definitions that a user names, and completing names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from jobrelay.cli.errors import Failure

if TYPE_CHECKING:
    from jobrelay.operate.crds import Definition


def complete_definitions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of definitions that start with `incomplete`, and files.

    Files come first: bash forgets what stands before them.
    """
    from jobrelay.operate.crds import KNOWN

    return [
        CompletionItem(incomplete, "file"),
        *(CompletionItem(name) for name in KNOWN if name.startswith(incomplete)),
    ]


def load_definitions(sources: tuple[str, ...]) -> tuple[Definition, ...]:
    """Reads definitions and says what was left out; raises Failure."""
    from jobrelay.operate.crds import read_definitions
    from jobrelay.operate.errors import OperateError

    try:
        read = read_definitions(sources)
    except OperateError as error:
        raise Failure(str(error), error.hint) from error
    for path, number in read.left_out.items():
        click.echo(f"note: {path}: left out {number} objects that are not CustomResourceDefinitions", err=True)
    return read.found
