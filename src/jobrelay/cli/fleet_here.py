"""Which fleet commands use where no kubeconfig is named.

In this order: --kubeconfig, KUBECONFIG, the running fleet that `jobrelay up` started in this folder or in one above it,
~/.kube/config, and the service account of the pod that the command runs in.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from jobrelay.cli.state_folder import state_folder

if TYPE_CHECKING:
    from jobrelay.fleet.here import FleetNotes

__all__ = ["fleet_kubeconfig", "fleet_notes"]


def fleet_notes() -> FleetNotes:
    """Where fleets are noted by the folders that they were started in."""
    from jobrelay.fleet.here import FleetNotes

    return FleetNotes(state_folder() / "fleets-by-folder")


def fleet_kubeconfig(environ: Mapping[str, str] = os.environ) -> pathlib.Path | None:
    """The kubeconfig of the fleet of this folder; None if there is none, or KUBECONFIG names another cluster.

    Says so on stderr if kubectl would use another one.
    """
    if environ.get("KUBECONFIG"):
        return None
    try:
        found = fleet_notes().find(pathlib.Path.cwd())
    except OSError:  # the working directory is gone
        return None
    if found is None:
        return None
    from jobrelay.kube.kubeconfig import default_paths

    if any(path.exists() for path in default_paths(environ)):
        click.echo(f"note: using the fleet in {found.path}, which was started in this folder", err=True)
    return found.kubeconfig("management")
