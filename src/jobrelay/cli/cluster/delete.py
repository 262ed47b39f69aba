"""`jobrelay cluster delete`: deletes clusters and their data."""

from __future__ import annotations

import pathlib

import click

from jobrelay.cli.cluster.common import DIR, cluster_errors, complete_names, existing
from jobrelay.cli.cluster.stop import stop_clusters
from jobrelay.cli.errors import Failure


@click.command(short_help="Delete stopped clusters and all their data.")
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_names)
@click.option("--force", is_flag=True, help="Stop running clusters first.")
@DIR
def delete(names: tuple[str, ...], force: bool, folder: pathlib.Path) -> None:
    """Delete clusters and all their data: objects, keys, kubeconfigs and logs."""
    with cluster_errors():
        chosen = existing(folder, names)
        running = [each for each in chosen if each.holder() is not None]
        if running and not force:
            raise Failure(
                f"cluster {running[0].name!r} is running", "stop it first, or add --force; nothing was deleted"
            )
        stop_clusters(running, timeout=15.0)
        for each in chosen:
            each.remove()
            click.echo(f"{each.name} deleted", err=True)
