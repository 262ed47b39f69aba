"""Recordings of `jobrelay simulate`: the Jobs of a management cluster as a trace."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from jobrelay.cli.errors import Failure
from jobrelay.cli.management import Management, run

if TYPE_CHECKING:
    from jobrelay.kube import Object


def record(path: pathlib.Path, management: Management, namespace: str | None) -> None:
    """Write the delegated Jobs of a namespace, or of all, to a CSV file; `-` is stdout."""
    from jobrelay.planning.recording import record_jobs
    from jobrelay.planning.trace import COLUMNS, write_trace

    rows, running = record_jobs(run(_jobs(management, namespace)))
    try:
        if str(path) == "-":
            write_trace(rows, COLUMNS, sys.stdout)
        else:
            with path.open("w", newline="") as file:
                write_trace(rows, COLUMNS, file)
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error}") from error
    left = f"; {running} that have not run to their end are left out" if running else ""
    click.echo(f"recorded {len(rows)} Jobs{left}", err=True)


async def _jobs(management: Management, namespace: str | None) -> Iterable[Object]:
    from jobrelay.kube.resource import JOBS

    async with management.connect() as client:
        return (await client.list(JOBS, namespace)).items
