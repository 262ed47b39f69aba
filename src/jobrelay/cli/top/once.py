"""`jobrelay top --once`: prints one snapshot, for people or for programs."""

from __future__ import annotations

import click
import msgspec

from jobrelay.cli.output import print_data, print_table
from jobrelay.cli.top.fleet_snapshot import ORDERS, WORKER_COLUMNS, FleetSnapshot, ordered, summary, workload_columns
from jobrelay.cli.worker_rows import worker_row

__all__ = ["print_snapshot"]

_WIDEST = 90


def print_snapshot(snapshot: FleetSnapshot, output: str, *, everywhere: bool) -> None:
    """Prints workers and workloads on stdout; the rest goes to stderr."""
    rows = ordered(snapshot.workloads, ORDERS[0])
    if output == "json":
        workers = [msgspec.to_builtins(each) for each in snapshot.workers]
        print_data({"workers": workers, "workloads": [dict(row) for row in rows]}, output)
    else:
        print_table([worker_row(each) for each in snapshot.workers], WORKER_COLUMNS, widest=_WIDEST)
        if rows:
            click.echo()
            print_table(rows, workload_columns(everywhere), widest=_WIDEST)
        click.echo(summary(snapshot), err=True)
    if snapshot.problem:
        click.echo(f"note: {snapshot.problem}; showing what the management cluster knows", err=True)
