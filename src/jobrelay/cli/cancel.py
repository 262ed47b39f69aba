"""`jobrelay cancel`: deletes delegated workloads."""

from __future__ import annotations

from typing import Any

import click

from jobrelay.cli.arguments import WORKLOADS, WorkloadName
from jobrelay.cli.kinds import Kinds, kind_options
from jobrelay.cli.management import NAMESPACE, Management, management_options, run
from jobrelay.cli.output import output_option, print_data


@click.command(short_help="Delete delegated workloads, wherever they run.")
@WORKLOADS
@NAMESPACE
@output_option("text", "json", "yaml")
@kind_options
@management_options
def cancel(
    workloads: tuple[WorkloadName, ...], namespace: str | None, output: str, kinds: Kinds, management: Management
) -> None:
    """Delete delegated workloads that wait or run; the relay then stops and removes what runs on their workers.

    Nothing is asked. One that has ended is left as it is, and that is no error. Set spec.suspend instead to stop a
    workload that is to be resumed later.

    \b
    jobrelay cancel job/train
    jobrelay cancel job/train jobset/render -n research
    """
    done = run(_cancel(workloads, namespace, kinds, management))
    if output == "text":
        for each in done:
            what = "cancelled: it was deleted" if each["cancelled"] else "has ended already: nothing was done"
            click.echo(f"{each['kind']}/{each['name']} {what}", err=True)
    else:
        print_data(done, output)


async def _cancel(
    workloads: tuple[WorkloadName, ...], namespace: str | None, kinds: Kinds, management: Management
) -> list[dict[str, Any]]:
    async with kinds.relay(management, namespace) as relay:
        return [
            {"kind": each.kind, "namespace": relay.namespace, "name": each.name, "cancelled": await relay.cancel(each)}
            for each in workloads
        ]
