"""`jobrelay cluster list`, `stop` and `delete`: commands for clusters that exist."""

from __future__ import annotations

import os
import pathlib
import signal
import time
from collections.abc import Sequence

import click

from jobrelay.cli.cluster.common import DIR, cluster_errors, complete_names, describe, existing
from jobrelay.cli.errors import Failure
from jobrelay.cli.output import output_option, print_rows
from jobrelay.cluster.files import ClusterFolder, find_folders


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


@click.command(short_help="Stop running clusters; their data is kept.")
@click.argument("names", metavar="NAME...", nargs=-1, shell_complete=complete_names)
@click.option("--all", "everything", is_flag=True, help="Stop all clusters of the folder.")
@click.option("--timeout", type=click.FloatRange(min=0), default=15.0, show_default=True, help="Seconds to wait.")
@DIR
def stop(names: tuple[str, ...], everything: bool, timeout: float, folder: pathlib.Path) -> None:
    """Stop running clusters; their data is kept for the next start.

    Clusters that were started by one command in the foreground share a process and stop together.
    """
    if everything == bool(names):
        raise click.UsageError("Give either the names of clusters or --all.")
    with cluster_errors():
        chosen = find_folders(folder) if everything else existing(folder, names)
        stop_clusters(chosen, timeout)


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


def stop_clusters(chosen: Sequence[ClusterFolder], timeout: float) -> None:
    """Sends SIGTERM to the processes of the clusters and waits until their folders are unlocked; raises Failure."""
    running = {each.name: (each, pid) for each in chosen if (pid := each.holder()) is not None}
    for pid in {pid for _, pid in running.values()}:
        terminate(pid)
    end = time.monotonic() + timeout
    for each in chosen:
        if each.name not in running:
            click.echo(f"{each.name} was not running", err=True)
            continue
        while (pid := each.holder()) is not None:
            if time.monotonic() >= end:
                raise Failure(f"cluster {each.name!r} (pid {pid}) did not stop within {timeout:g} s", f"see {each.log}")
            time.sleep(0.02)
        click.echo(f"{each.name} stopped", err=True)


def terminate(pid: int) -> None:
    """Sends SIGTERM to a process, which may have exited; raises Failure."""
    if not pid:
        raise Failure("the process ID of the cluster is not known yet", "try again in a moment")
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise Failure(f"process {pid} belongs to another user", "ask that user to stop it") from error
