"""`jobrelay relay`: runs the relay of a management cluster."""

from __future__ import annotations

import click

from jobrelay.cli.lazy import LazyGroup


@click.group(
    cls=LazyGroup,
    commands_at={"run": ("jobrelay.cli.relay.run:run", "Run delegated Jobs on worker clusters until Ctrl-C.")},
)
def relay() -> None:
    """The relay runs delegated Jobs on worker clusters and copies their status back."""
