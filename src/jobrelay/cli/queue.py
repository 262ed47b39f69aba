"""`jobrelay queue`: lists queues and what waits in them, holds and resumes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jobrelay.cli.errors import Failure
from jobrelay.cli.management import NAMESPACE, Management, management_options, run
from jobrelay.cli.output import output_option, print_data, print_rows, print_table

if TYPE_CHECKING:
    from jobrelay.kube import Client

_QUEUE = click.argument("queue", metavar="[cq/|lq/]NAME")


@click.group()
def queue() -> None:
    """List queues and what waits in them, hold and resume them.

    Queues are Kueue's objects: a ClusterQueue has the quotas (`cq/NAME`, or just NAME), a LocalQueue (`lq/NAME`) is
    where users of a namespace submit. The relay admits by them if it runs with --queueing.
    """


@queue.command("list", short_help="List ClusterQueues with their usage.")
@output_option("table", "json", "name")
@management_options
def list_queues(output: str, management: Management) -> None:
    """List ClusterQueues: how many workloads hold quota and how many wait, and what is used of each quota.

    \b
    jobrelay queue list
    jobrelay queue list -o json
    """
    found = run(_overview(management))
    rows = [_row(each) for each in found["clusterQueues"]]
    columns = ["name", "cohort", "strategy", "active", "pending", "admitted", "used"]
    print_rows(found["clusterQueues"] if output == "json" else rows, columns, "table" if output == "table" else output)


def _row(queue: dict[str, Any]) -> dict[str, Any]:
    used = [f"{each['resource']} {each['used']}/{each['nominal']} ({each['flavor']})" for each in queue["quotas"]]
    return {
        "name": queue["name"],
        "cohort": queue["cohort"] or None,
        "strategy": queue["strategy"],
        "active": "yes" if queue["active"] else "no",
        "pending": len(queue["pending"]),
        "admitted": len(queue["admitted"]),
        "used": ", ".join(used) or None,
    }


@queue.command(short_help="Show a ClusterQueue with all that waits in it, in order.")
@_QUEUE
@output_option("text", "json", "yaml")
@management_options
def describe(queue: str, output: str, management: Management) -> None:
    """Show a ClusterQueue: its quotas, what holds them, and what waits in it, in order and with the reason.

    \b
    jobrelay queue describe cluster-queue
    """
    name = _cluster_queue(queue)
    queues = {each["name"]: each for each in run(_overview(management))["clusterQueues"]}
    if name not in queues:
        raise Failure(f"there is no ClusterQueue {name}", f"there are {', '.join(queues) or 'none'}")
    if output != "text":
        print_data(queues[name], output)
        return
    _print_queue(queues[name])


def _print_queue(found: dict[str, Any]) -> None:
    click.echo(f"ClusterQueue {found['name']}: {'active' if found['active'] else found['why']}")
    click.echo(f"  cohort     {found['cohort'] or '-'}")
    click.echo(f"  strategy   {found['strategy']}")
    local = [f"{each['namespace']}/{each['name']}" for each in found["localQueues"]]
    click.echo(f"  queues     {', '.join(local) or '-'}")
    for title, rows, columns in (
        ("Quotas", found["quotas"], ["flavor", "resource", "nominal", "used", "borrowed"]),
        ("Holding quota", found["admitted"], ["namespace", "object", "workload", "localQueue", "priority"]),
        ("Pending", found["pending"], ["position", "namespace", "object", "localQueue", "priority", "why"]),
    ):
        click.echo(f"\n{title}: {'' if rows else 'none'}".rstrip())
        if rows:
            print_table([{"object": "", **row} for row in rows], columns)


@queue.command(short_help="Admit no more workloads; with --drain, evict those that run.")
@_QUEUE
@click.option("--drain", is_flag=True, help="Evict what holds quota too; it is queued again on resume.")
@NAMESPACE
@management_options
def hold(queue: str, drain: bool, namespace: str | None, management: Management) -> None:
    """Stop a queue: nothing more is admitted through it, and what runs goes on unless --drain is given.

    \b
    jobrelay queue hold cluster-queue
    jobrelay queue hold lq/user-queue -n research --drain
    """
    _stop(queue, "HoldAndDrain" if drain else "Hold", namespace, management)
    click.echo(f"queue {queue} {'drained' if drain else 'held'}", err=True)


@queue.command(short_help="Admit workloads again.")
@_QUEUE
@NAMESPACE
@management_options
def resume(queue: str, namespace: str | None, management: Management) -> None:
    """Let a queue that was held admit workloads again."""
    _stop(queue, "None", namespace, management)
    click.echo(f"queue {queue} resumed", err=True)


def _stop(queue: str, policy: str, namespace: str | None, management: Management) -> None:
    from jobrelay.kube import NotFound, merge_patch
    from jobrelay.queueing.resources import CLUSTER_QUEUES, LOCAL_QUEUES

    kind, _, name = queue.rpartition("/")
    if kind not in ("", "cq", "lq"):
        raise Failure(f"{queue!r} is not a queue", "write cq/NAME or lq/NAME")
    resource, where = (LOCAL_QUEUES, management.namespace(namespace)) if kind == "lq" else (CLUSTER_QUEUES, None)

    async def work() -> None:
        async with management.connect() as client:
            patch = merge_patch({"spec": {"stopPolicy": policy}})
            try:
                await client.patch(resource, name, patch, where, field_manager="jobrelay-cli")
            except NotFound:
                place = f" in namespace {where}" if where else ""
                hint = "`jobrelay queue list` lists them; `relay run --queueing on` installs their kinds"
                raise Failure(f"there is no {resource.kind} {name}{place}", hint) from None

    run(work())


def _cluster_queue(text: str) -> str:
    kind, _, name = text.rpartition("/")
    if kind not in ("", "cq"):
        raise Failure(f"{text!r} is not a ClusterQueue", "write its name; `jobrelay queue list` shows LocalQueues too")
    return name


async def _overview(management: Management) -> dict[str, Any]:
    from jobrelay.sdk.relay_api import try_query_relay

    async with management.connect() as client:
        reply = await try_query_relay(client, management, "/queues")
        if reply.value is not None:
            found: dict[str, Any] = reply.value
            return found
        why = reply.problem or "the relay does not admit workloads: it runs with --queueing off, or beside Kueue"
        click.echo(f"note: {why}", err=True)
        click.echo("note: showing the objects alone, without the order in which workloads wait", err=True)
        return await _from_objects(client)


async def _from_objects(client: Client) -> dict[str, Any]:
    """The queues by their own statuses."""
    from jobrelay.kube import NotFound
    from jobrelay.queueing.objects_view import cluster_queue_view
    from jobrelay.queueing.resources import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS

    try:
        queues, local, workloads = [
            (await client.list(resource)).items for resource in (CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS)
        ]
    except NotFound:
        raise Failure("the cluster does not serve queues", "`jobrelay relay run --queueing on` installs them") from None
    return {"clusterQueues": [cluster_queue_view(each, local, workloads) for each in queues]}
