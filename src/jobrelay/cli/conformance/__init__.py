"""`jobrelay conformance`: judges the Job controllers of a cluster."""

from __future__ import annotations

import click

from jobrelay.cli.lazy import LazyGroup


@click.group(
    cls=LazyGroup,
    commands_at={
        "run": ("jobrelay.cli.conformance.run:run", "Submit Jobs to a controller and judge what becomes of them."),
        "watch": ("jobrelay.cli.conformance.watch:watch", "Audit the statuses of all Jobs, without writing anything."),
        "clean": ("jobrelay.cli.conformance.clean:clean", "Remove what crashed runs have left."),
    },
)
def conformance() -> None:
    """Judge Job controllers from outside: the built-in one, the relay, or any other that managedBy names.

    The exit code is 0 if nothing is wrong, 1 if something is, and 2 if that cannot be told.
    """
