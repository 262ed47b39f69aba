"""`jobrelay cluster delete`: removes what a cluster kept."""

from __future__ import annotations

import pathlib

import click

from jobrelay.cli.cluster.common import DIR, complete_names, existing, telling_errors
from jobrelay.cli.cluster.stop import stop_clusters
from jobrelay.cli.errors import Failure


@click.command(short_help="Delete stopped clusters with all their data.")
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_names)
@click.option("--force", is_flag=True, help="Stop the clusters first if they run.")
@DIR
def delete(names: tuple[str, ...], force: bool, folder: pathlib.Path) -> None:
    """Delete clusters with all their data: objects, keys, kubeconfigs and logs."""
    with telling_errors():
        chosen = existing(folder, names)
        running = [each for each in chosen if each.holder() is not None]
        if running and not force:
            raise Failure(
                f"cluster {running[0].name!r} is running", "stop it first, or use --force; nothing was deleted"
            )
        stop_clusters(running, timeout=15.0)
        for each in chosen:
            each.remove()
            click.echo(f"{each.name} deleted", err=True)
