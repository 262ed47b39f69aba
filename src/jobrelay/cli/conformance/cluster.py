"""The options that name the cluster whose controllers are judged."""

from __future__ import annotations

import pathlib

import click

from jobrelay.cli.management import CONTEXT

__all__ = ["CONTEXT", "KUBECONFIG"]

KUBECONFIG = click.option(
    "--kubeconfig", type=click.Path(path_type=pathlib.Path, dir_okay=False), metavar="FILE",
    help="The kubeconfig of the cluster.  [default: as kubectl]",
)  # fmt: skip
