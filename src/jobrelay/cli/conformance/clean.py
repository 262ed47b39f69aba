"""`jobrelay conformance clean`: removes what crashed runs have left."""

from __future__ import annotations

import pathlib

import click

from jobrelay.cli.conformance.cluster import CONTEXT, KUBECONFIG
from jobrelay.cli.management import run as run_command


@click.command(short_help="Remove what crashed runs have left.")
@click.option("--all", "running", is_flag=True, help="Also of runs that may still be going.")
@KUBECONFIG
@CONTEXT
def clean(running: bool, kubeconfig: pathlib.Path | None, context: str | None) -> None:
    """Remove the namespaces, Jobs and pods of conformance runs that did not clean up after themselves.

    A run that may still be going is left alone: each says in its namespace until when it may last. The names of the
    runs are printed.

    \b
    jobrelay conformance clean
    jobrelay conformance clean --all
    """
    for name in run_command(_clean(running, kubeconfig, context)):
        click.echo(name)


async def _clean(running: bool, kubeconfig: pathlib.Path | None, context: str | None) -> list[str]:
    from jobrelay.conformance import clean as clean_up
    from jobrelay.kube import SystemClock, connect

    async with connect(kubeconfig, context) as client:
        return await clean_up(client, SystemClock(), running=running)
