"""`jobrelay cluster stop`: terminates the processes that run clusters and waits until they have exited."""

from __future__ import annotations

import os
import pathlib
import signal
import time
from collections.abc import Sequence

import click

from jobrelay.cli.cluster.common import DIR, cluster_errors, complete_names, existing
from jobrelay.cli.errors import Failure
from jobrelay.cluster.files import ClusterFolder, find_folders


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


def stop_clusters(chosen: Sequence[ClusterFolder], timeout: float) -> None:
    """Sends SIGTERM to the processes of the clusters and waits until their folders are unlocked; raises Failure."""
    running = {each.name: (each, pid) for each in chosen if (pid := each.holder()) is not None}
    for pid in {pid for _, pid in running.values()}:
        _terminate(pid)
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


def _terminate(pid: int) -> None:
    if not pid:
        raise Failure("the process ID of the cluster is not known yet", "try again in a moment")
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return
    except PermissionError as error:
        raise Failure(f"process {pid} belongs to another user", "ask that user to stop it") from error
