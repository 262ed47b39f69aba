"""`jobrelay cluster list`: lists the clusters of a folder."""

from __future__ import annotations

import pathlib

import click

from jobrelay.cli.cluster.common import DIR, cluster_errors, describe
from jobrelay.cli.output import output_option, print_rows
from jobrelay.cluster.files import find_folders


@click.command("list", short_help="List clusters, running or stopped.")
@DIR
@output_option("table", "json", "name")
def list_(folder: pathlib.Path, output: str) -> None:
    """List the clusters of a folder, running or stopped."""
    with cluster_errors():
        rows = [describe(each) for each in find_folders(folder)]
    if not rows and output == "table":
        click.echo(f"no clusters in {folder}", err=True)
        return
    print_rows(rows, ["name", "state", "pid", "url", "kubeconfig"], output)
