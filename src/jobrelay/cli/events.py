"""`jobrelay events`: the events of delegated workloads on the management cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import click

from jobrelay.cli.arguments import OPTIONAL_WORKLOAD, WorkloadName
from jobrelay.cli.kinds import Kinds, kind_options
from jobrelay.cli.management import NAMESPACE, Management, management_options, run
from jobrelay.cli.output import output_option, print_data, print_table, table_line

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from jobrelay.kube import Client
    from jobrelay.sdk.relay import AsyncRelay

_COLUMNS: Final = ("age", "type", "object", "reason", "message")
_WIDTHS: Final = (6, 7, 24, 0)
"""Of a watch, which has one column for reason and message."""


@click.command(short_help="List the events of delegated workloads.")
@OPTIONAL_WORKLOAD
@NAMESPACE
@click.option("-w", "--watch", is_flag=True, help="Keep printing events as they come, until Ctrl-C.")
@output_option("table", "json", "yaml")
@kind_options
@management_options
def events(
    workload: WorkloadName | None,
    namespace: str | None,
    watch: bool,
    output: str,
    kinds: Kinds,
    management: Management,
) -> None:
    """List the events of one workload, or of all workloads of a namespace whose kinds the relay knows; newest last.

    \b
    jobrelay events
    jobrelay events job/train -w
    jobrelay events -n research -o json
    """
    run(_events(kinds.relay(management, namespace), workload, watch, output))


async def _events(
    opening: AbstractAsyncContextManager[AsyncRelay], workload: WorkloadName | None, watch: bool, output: str
) -> None:
    from jobrelay.kube import SystemClock
    from jobrelay.kube.resource import EVENTS_CORE
    from jobrelay.sdk.explaining import event_time

    async with opening as relay:
        selector = await _selector(relay, workload)
        known = {(each.resource.group, each.resource.kind) for each in await relay.adapters()}
        listed = await relay.client.list(EVENTS_CORE, relay.namespace, field_selector=selector)
        found = sorted(_about(known, (each.decode() for each in listed.items)), key=event_time)
        _print([event_row(each, SystemClock().now()) for each in found], output, watch)
        if watch:
            await _watch(relay.client, relay.namespace, selector, listed.resource_version, known, output)


async def _selector(relay: AsyncRelay, workload: WorkloadName | None) -> str:
    """The field selector of one workload's events; those of an earlier one of that name are left out."""
    from jobrelay.sdk.workloads import get_workload

    if workload is None:
        return ""
    adapter, name, where = await relay.find(workload)
    return f"involvedObject.uid={(await get_workload(relay.client, adapter, name, where)).uid}"


async def _watch(
    client: Client, namespace: str, selector: str, version: str, known: set[tuple[str, str]], output: str
) -> None:
    from jobrelay.kube import Expired, SystemClock
    from jobrelay.kube.resource import EVENTS_CORE
    from jobrelay.kube.watch import EventType

    while True:
        watch = client.watch(EVENTS_CORE, namespace, resource_version=version, field_selector=selector)
        try:
            async with watch as changes:
                async for change in changes:
                    version = change.object.resource_version or version
                    if change.type in (EventType.ADDED, EventType.MODIFIED):
                        for each in _about(known, [change.object.decode()]):
                            _print_line(event_row(each, SystemClock().now()), output)
        except Expired:
            version = ""


def _about(known: set[tuple[str, str]], found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events about objects of the relay's kinds."""
    return [each for each in found if _regards(each["involvedObject"]) in known]


def _regards(reference: Mapping[str, Any]) -> tuple[str, str]:
    return str(reference.get("apiVersion", "")).rpartition("/")[0], str(reference.get("kind"))


def event_row(event: dict[str, Any], now: datetime) -> dict[str, Any]:
    """One event for a table or a program."""
    from jobrelay.kinds.tables.ages import since
    from jobrelay.sdk.explaining import event_time

    regards = event["involvedObject"]
    return {
        "age": since(event_time(event), now),
        "time": event_time(event),
        "type": event.get("type"),
        "object": f"{regards['kind'].lower()}/{regards['name']}",
        "namespace": regards.get("namespace"),
        "reason": event.get("reason"),
        "message": event.get("message"),
        "count": (event.get("series") or {}).get("count") or event.get("count") or 1,
    }


def _print(rows: list[dict[str, Any]], output: str, watch: bool) -> None:
    if watch:
        for row in rows:
            _print_line(row, output)
    elif output != "table":
        print_data(rows, output)
    elif rows:
        print_table(rows, _COLUMNS)
    else:
        click.echo("no events found", err=True)


def _print_line(row: dict[str, Any], output: str) -> None:
    """One line of a watch; for programs, one JSON document or one YAML list entry."""
    if output == "table":
        cells = [row["age"], row["type"], row["object"], f"{row['reason']}: {row['message']}"]
        click.echo(table_line(_COLUMNS[:4], [str(each) for each in cells], _WIDTHS))
    elif output == "json":
        import json

        click.echo(json.dumps(row))
    else:
        print_data([row], output)
