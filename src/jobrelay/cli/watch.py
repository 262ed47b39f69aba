"""`jobrelay get jobs -w`: prints a line for each delegated Job, and another whenever its row changes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from jobrelay.cli.job_rows import is_delegated, job_row
from jobrelay.cli.management import Management
from jobrelay.cli.relay_api import try_query_relay
from jobrelay.kube import Client, Expired, Object, SystemClock
from jobrelay.kube.resource import JOBS
from jobrelay.kube.watch import EventType

__all__ = ["watch_jobs"]

_WIDTHS = {"namespace": 14, "name": 24, "cluster": 14, "run": 3, "status": 11, "completions": 11, "age": 6}


async def watch_jobs(
    client: Client, management: Management, namespace: str | None, output: str, columns: Sequence[str]
) -> None:
    """Prints until cancelled."""
    if output in ("table", "wide"):
        click.echo(_line({column: column.upper() for column in columns}, columns))
    shown: dict[tuple[str, str], dict[str, Any]] = {}
    version = ""
    while True:
        try:
            async with client.watch(JOBS, namespace, resource_version=version) as events:
                async for event in events:
                    version = event.object.resource_version or version
                    if event.type not in (EventType.BOOKMARK, EventType.DELETED):
                        await _show(client, management, event.object, shown, output, columns)
        except Expired:
            version = ""


async def _show(
    client: Client,
    management: Management,
    obj: Object,
    shown: dict[tuple[str, str], dict[str, Any]],
    output: str,
    columns: Sequence[str],
) -> None:
    if not is_delegated(obj.decode()):
        return
    reply = await try_query_relay(client, management, f"/explain/{obj.namespace}/job/{obj.name}")
    row = job_row(obj, SystemClock().now(), (reply.value or {}).get("sentence", ""))
    key, seen = (obj.namespace, obj.name), {name: value for name, value in row.items() if name != "age"}
    if shown.get(key) == seen:
        return
    shown[key] = seen
    if output == "name":
        click.echo(f"job/{obj.name}")
    elif output in ("table", "wide"):
        click.echo(_line(row, columns))
    else:
        click.echo(json.dumps(row))


def _line(row: dict[str, Any], columns: Sequence[str]) -> str:
    cells = ["-" if row[column] is None else str(row[column]) for column in columns]
    return "   ".join(cell.ljust(_WIDTHS.get(column, 8)) for cell, column in zip(cells, columns, strict=True)).rstrip()
