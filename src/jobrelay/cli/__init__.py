"""The `jobrelay` command.

Data goes to stdout, everything else to stderr. A command that cannot do what it was asked ends with code 2 and a `hint:`.
Modules of commands are imported when their command is called, so `jobrelay --help` costs little more than python itself.
"""

from __future__ import annotations

import click

from jobrelay import __version__
from jobrelay.cli.lazy import LazyGroup

__all__ = ["main"]


@click.group(
    cls=LazyGroup,
    commands_at={
        "cluster": ("jobrelay.cli.cluster:cluster", "Start and stop embedded Kubernetes clusters."),
        "completion": ("jobrelay.cli.completion:completion", "Print the completion script of a shell."),
    },
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "--version", message="%(prog)s %(version)s")
def root() -> None:
    """Kubernetes batch work across many clusters, with embedded clusters for laptops and tests."""


def main() -> None:
    """The entry point."""
    root(prog_name="jobrelay")
