"""`jobrelay relay`: the relay itself, for one management cluster."""

from __future__ import annotations

import click

from jobrelay.cli.lazy import LazyGroup


@click.group(
    cls=LazyGroup,
    commands_at={"run": ("jobrelay.cli.relay.run:run", "Run delegated Jobs on worker clusters until Ctrl-C.")},
)
def relay() -> None:
    """The relay: delegated Jobs run on worker clusters, and their status comes back."""
