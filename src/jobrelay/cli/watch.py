"""`jobrelay get -w`: prints a line for each delegated workload, and another whenever its row changes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import click

from jobrelay.cli.listing import Listing
from jobrelay.cli.management import Management
from jobrelay.cli.output import table_line
from jobrelay.kube import Client, Expired, KubeError, Object
from jobrelay.kube.watch import EventType
from jobrelay.sdk.relay_api import try_query_relay
from jobrelay.sdk.workloads import is_delegated
from jobrelay.workloads import Adapter

__all__ = ["WorkloadWatch"]

_WIDTHS = {
    "namespace": 14, "kind": 12, "name": 24, "cluster": 14, "run": 3, "status": 11, "completions": 11, "age": 6,
}  # fmt: skip


class WorkloadWatch:
    """Prints the rows of a listing as they change."""

    def __init__(
        self, client: Client, management: Management, listing: Listing, output: str, columns: Sequence[str]
    ) -> None:
        self._client, self._management, self._listing = client, management, listing
        self._output, self._columns = output, columns
        self._widths = [_WIDTHS.get(column, 8) for column in columns]
        self._shown: dict[tuple[str, str, str], dict[str, Any]] = {}

    async def run(self) -> None:
        """Print until cancelled; raises KubeError."""
        if self._output in ("table", "wide"):
            heads = [column.upper() for column in self._columns]
            click.echo(table_line(heads, heads, self._widths))
        try:
            async with asyncio.TaskGroup() as tasks:
                for adapter in self._listing.adapters:
                    tasks.create_task(self._watch(adapter))
        except* KubeError as errors:
            raise errors.exceptions[0] from None

    async def _watch(self, adapter: Adapter) -> None:
        resource, namespace, name = adapter.resource, self._listing.namespace, self._listing.name
        selector, version = f"metadata.name={name}" if name else "", ""
        while True:
            watch = self._client.watch(
                resource,
                namespace,
                resource_version=version,
                field_selector=selector,
                label_selector=self._listing.labels,
            )
            try:
                async with watch as events:
                    async for event in events:
                        version = event.object.resource_version or version
                        if event.type not in (EventType.BOOKMARK, EventType.DELETED):
                            await self._show(adapter, event.object)
            except Expired:
                version = ""

    async def _show(self, adapter: Adapter, obj: Object) -> None:
        if not is_delegated(adapter, adapter.read(obj)):
            return
        path = f"/explain/{obj.namespace}/{adapter.resource}/{obj.name}"
        reply = await try_query_relay(self._client, self._management, path)
        row = self._listing.row(adapter, obj, reply.value or {})
        key = (str(adapter.resource), obj.namespace, obj.name)
        seen = {name: value for name, value in row.items() if name != "age"}
        if self._shown.get(key) == seen or not self._listing.shows(row):
            return
        self._shown[key] = seen
        if self._output == "name":
            click.echo(f"{adapter.resource.kind.lower()}/{obj.name}")
        elif self._output in ("table", "wide"):
            click.echo(self._line(row))
        else:
            click.echo(json.dumps(row))

    def _line(self, row: dict[str, Any]) -> str:
        cells = ["-" if row[column] is None else str(row[column]) for column in self._columns]
        return table_line(self._columns, cells, self._widths)
