"""`jobrelay cluster`: embedded clusters, in the foreground or in the background."""

from __future__ import annotations

import click

from jobrelay.cli.lazy import LazyGroup


@click.group(
    cls=LazyGroup,
    commands_at={
        "start": ("jobrelay.cli.cluster.start:start", "Start clusters and keep them running."),
        "list": ("jobrelay.cli.cluster.existing:list_", "List clusters, running or stopped."),
        "stop": ("jobrelay.cli.cluster.existing:stop", "Stop running clusters; their data is kept."),
        "crds": ("jobrelay.cli.cluster.crds:crds", "Install CustomResourceDefinitions on clusters, and list them."),
        "delete": ("jobrelay.cli.cluster.existing:delete", "Delete stopped clusters and all their data."),
    },
)
def cluster() -> None:
    """Embedded Kubernetes clusters: an API server that kubectl and client-go accept, without Docker."""
