"""`jobrelay get`: lists delegated Jobs and workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from jobrelay.cli.errors import Failure
from jobrelay.cli.management import NAMESPACE, Management, management_options, run
from jobrelay.cli.output import output_option, print_data, print_table

if TYPE_CHECKING:
    from jobrelay.kube import Client

_JOBS = ("name", "cluster", "run", "status", "completions", "age", "why")
_JOBS_WIDE = ("name", "cluster", "run", "status", "completions", "active", "failed", "age", "sentence")
_WORKERS = ("name", "state", "jobs", "nodes", "cpu", "memory", "reason")
_WIDEST = 90
_WORKERS_WIDE = (*_WORKERS[:-1], "version", "pending", "lost", "room", "reason")


@click.command(short_help="List delegated Jobs and workers.")
@click.argument("what", type=click.Choice(["jobs", "workers", "all"]), default="all")
@NAMESPACE
@click.option("-A", "--all-namespaces", is_flag=True, help="List Jobs of all namespaces.")
@output_option("table", "wide", "json", "yaml", "name")
@click.option("-w", "--watch", is_flag=True, help="Keep printing Jobs as they change, until Ctrl-C.")
@management_options
def get(
    what: str, namespace: str | None, all_namespaces: bool, output: str, watch: bool, management: Management
) -> None:
    """List delegated Jobs with the worker that runs each, and workers with their state and capacity.

    WHY is the relay's reason why a Job waits; -o wide shows a full sentence for each Job. CPU and MEMORY show what pods
    request and what is allocatable.

    \b
    jobrelay get
    jobrelay get jobs -A -o wide
    jobrelay get workers -o json
    jobrelay get jobs -w
    """
    if watch and what != "jobs":
        raise Failure(f"--watch works for Jobs only, not for {what}", "use `jobrelay get jobs -w`")
    run(_get(what, namespace, all_namespaces, output, watch, management))


async def _get(
    what: str, namespace: str | None, everywhere: bool, output: str, watch: bool, management: Management
) -> None:
    from jobrelay.cli.watch import watch_jobs

    async with management.connect() as client:
        where = None if everywhere else management.namespace(namespace)
        if watch:
            await watch_jobs(client, management, where, output, _columns(everywhere, output, _JOBS, _JOBS_WIDE))
            return
        found: dict[str, list[dict[str, Any]]] = {}
        problem = ""
        if what != "jobs":
            found["workers"], problem = await _workers(client, management, rows=output in ("table", "wide", "name"))
        if what != "workers":
            found["jobs"], problem = await _jobs(client, management, where)
        if problem:
            click.echo(f"note: {problem}; showing what the management cluster knows", err=True)
    _print(found, output, everywhere)


async def _jobs(client: Client, management: Management, namespace: str | None) -> tuple[list[dict[str, Any]], str]:
    from jobrelay.cli.job_rows import is_delegated, job_row
    from jobrelay.cli.relay_api import try_query_relay
    from jobrelay.kube import SystemClock
    from jobrelay.kube.resource import JOBS

    reply = await try_query_relay(client, management, "/workloads", {"namespace": namespace} if namespace else None)
    sentences = {(each["namespace"], each["name"]): each["sentence"] for each in reply.value or ()}
    jobs = [job for job in (await client.list(JOBS, namespace)).items if is_delegated(job.decode())]
    now = SystemClock().now()
    return [job_row(job, now, sentences.get((job.namespace, job.name), "")) for job in jobs], reply.problem


async def _workers(client: Client, management: Management, *, rows: bool) -> tuple[list[dict[str, Any]], str]:
    import msgspec

    from jobrelay.cli.relay_api import try_query_relay
    from jobrelay.cli.worker_rows import worker_row
    from jobrelay.relay.overview import WorkerView

    reply = await try_query_relay(client, management, "/workers")
    if reply.problem:
        views = await _registered(client)
    else:
        views = msgspec.convert(reply.value, list[WorkerView])
    return [worker_row(view) if rows else msgspec.to_builtins(view) for view in views], reply.problem


async def _registered(client: Client) -> list[Any]:
    """The workers by their objects on the management cluster."""
    from collections import Counter

    from jobrelay.cli.job_rows import finished, job_status
    from jobrelay.kube.resource import JOBS
    from jobrelay.operate.registry import list_workers, registered_view
    from jobrelay.relay.assignment import assignment_of

    live = [job for job in (await client.list(JOBS)).items if not finished(job_status(job.decode()))]
    counts = Counter(to.cluster for job in live if (to := assignment_of(job)) is not None)
    return [registered_view(each, counts[each.name]) for each in await list_workers(client)]


def _columns(everywhere: bool, output: str, plain: Sequence[str], wide: Sequence[str]) -> list[str]:
    return [*(["namespace"] if everywhere else []), *(wide if output == "wide" else plain)]


def _print(found: Mapping[str, list[dict[str, Any]]], output: str, everywhere: bool) -> None:
    if output in ("json", "yaml"):
        print_data(found if len(found) > 1 else next(iter(found.values())), output)
        return
    if output == "name":
        for kind, rows in found.items():
            for row in rows:
                click.echo(f"{kind.removesuffix('s')}/{row['name']}")
        return
    tables = {
        "workers": _columns(False, output, _WORKERS, _WORKERS_WIDE),
        "jobs": _columns(everywhere, output, _JOBS, _JOBS_WIDE),
    }
    shown = False
    for kind, rows in found.items():
        if not rows:
            click.echo(f"no {'delegated jobs' if kind == 'jobs' else kind} found", err=True)
            continue
        if shown:
            click.echo()
        print_table(rows, tables[kind], widest=None if output == "wide" else _WIDEST)
        shown = True
