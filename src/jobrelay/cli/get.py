"""`jobrelay get`: lists delegated workloads and workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from jobrelay.cli.errors import Failure
from jobrelay.cli.kinds import Kinds, kind_options
from jobrelay.cli.management import NAMESPACE, Management, management_options, run
from jobrelay.cli.output import output_option, print_data, print_table

if TYPE_CHECKING:
    from jobrelay.cli.listing import Listing
    from jobrelay.kube import Client

    _Choose: TypeAlias = Callable[[Client, str | None], Awaitable[tuple[Listing, Listing]]]

_JOBS = ("name", "cluster", "run", "status", "completions", "age", "why")
_JOBS_WIDE = ("name", "cluster", "run", "status", "completions", "active", "failed", "age", "sentence")
_WORKLOADS = ("kind", "name", "cluster", "run", "status", "age", "why")
_WORKLOADS_WIDE = (*_WORKLOADS[:-1], "sentence")
_WORKERS = ("name", "state", "jobs", "nodes", "cpu", "memory", "reason")
_FOR_PEOPLE = ("table", "wide", "name")
_WIDEST = 90
_STATUSES = frozenset({
    "waiting", "running", "notrunning", "lost", "suspended", "complete", "failed", "terminating",
})  # fmt: skip
_WORKERS_WIDE = (*_WORKERS[:-1], "version", "pending", "lost", "room", "reason")


def _statuses(ctx: click.Context, param: click.Parameter, value: str) -> frozenset[str]:
    chosen = frozenset(each.strip().lower() for each in value.split(",") if each.strip())
    if unknown := chosen - _STATUSES:
        raise click.BadParameter(f"{min(unknown)!r} is none of {', '.join(sorted(_STATUSES))}.")
    return chosen


@click.command(short_help="List delegated workloads and workers.")
@click.argument("what", metavar="[WHAT]", default="all")
@NAMESPACE
@click.option("-A", "--all-namespaces", is_flag=True, help="List workloads of all namespaces.")
@click.option("-l", "--selector", "labels", metavar="SELECTOR", default="", help="List workloads with these labels.")
@click.option(
    "--status", "statuses", metavar="STATUS[,STATUS]", default="", callback=_statuses,
    help="List workloads that are waiting, running, notrunning, lost, suspended, complete, failed or terminating.",
)  # fmt: skip
@output_option("table", "wide", "json", "yaml", "name")
@click.option("-w", "--watch", is_flag=True, help="Keep printing workloads as they change, until Ctrl-C.")
@kind_options
@management_options
def get(
    what: str,
    namespace: str | None,
    all_namespaces: bool,
    labels: str,
    statuses: frozenset[str],
    output: str,
    watch: bool,
    kinds: Kinds,
    management: Management,
) -> None:
    """List delegated workloads with the worker that runs each, and workers with their state and capacity.

    WHAT is jobs, workloads (of all other kinds that the management cluster serves), workers, all, a kind or KIND/NAME.
    WHY is the relay's reason why one waits, or what is wrong with its pods, in short; -o wide shows a full sentence for
    each. NotRunning was started, but none of its pods runs; the worker of one that is Lost does not answer. CPU and
    MEMORY show what pods request and what is allocatable.

    \b
    jobrelay get
    jobrelay get jobs -A -o wide
    jobrelay get jobsets -l team=research --status waiting,running
    jobrelay get rayjob/train -w
    jobrelay get workers -o json
    """
    if watch and what == "workers":
        raise Failure("--watch works for workloads, not for workers", "use `jobrelay get -w`")
    if all_namespaces and "/" in what:
        raise Failure(f"{what} is in one namespace, so -A means nothing", "choose the namespace with -n")

    def choose(client: Client, where: str | None) -> Awaitable[tuple[Listing, Listing]]:
        from jobrelay.cli.listing import choose

        return choose(client, management, kinds, what, where, labels, statuses)

    run(_get(what, namespace, choose, management, output, everywhere=all_namespaces, watch=watch))


async def _get(
    what: str, namespace: str | None, choose: _Choose, management: Management, output: str, *,
    everywhere: bool, watch: bool,
) -> None:  # fmt: skip
    from jobrelay.cli.listing import rows_of

    async with management.connect() as client:
        where = None if everywhere else management.namespace(namespace)
        jobs, others = await choose(client, where)
        if watch:
            await _watch(client, management, jobs, others, output)
            return
        found: dict[str, list[dict[str, Any]]] = {}
        problem = ""
        if what in ("workers", "all"):
            found["workers"], problem = await _workers(client, management, where, output)
        if jobs.adapters:
            found["jobs"], problem = await rows_of(client, management, jobs)
        if others.adapters or what == "workloads":
            found["workloads"], problem = await rows_of(client, management, others)
        _print_note(problem)
    _print(found, output, everywhere, single="/" in what)


async def get_workers(output: str, management: Management) -> None:
    """Print workers alone."""
    async with management.connect() as client:
        found, problem = await _workers(client, management, management.namespace(None), output)
        _print_note(problem)
    _print({"workers": found}, output, everywhere=False, single=False)


async def _workers(
    client: Client, management: Management, where: str | None, output: str
) -> tuple[list[dict[str, Any]], str]:
    """The rows of workers, and why the relay could not be asked about them."""
    import msgspec

    from jobrelay.cli.worker_rows import worker_row
    from jobrelay.cli.workers_listing import worker_views

    views, problem = await worker_views(client, management, where)
    return [worker_row(each) if output in _FOR_PEOPLE else msgspec.to_builtins(each) for each in views], problem


def _print_note(problem: str) -> None:
    """Say on stderr that the relay could not be asked."""
    if problem:
        note, _, hint = problem.partition("\nhint: ")
        click.echo(f"note: {note}; showing what the management cluster knows", err=True)
        if hint:
            click.echo(f"hint: {hint}", err=True)


async def _watch(client: Client, management: Management, jobs: Listing, others: Listing, output: str) -> None:
    """Watch Jobs in their own table, if there is nothing else to watch."""
    from jobrelay.cli.listing import Listing
    from jobrelay.cli.watch import WorkloadWatch

    kinds = (*jobs.adapters, *others.adapters)
    chosen = Listing(kinds, jobs.namespace, jobs.name, jobs.labels, jobs.statuses)
    tables = (_JOBS, _JOBS_WIDE) if chosen.jobs_only else (_WORKLOADS, _WORKLOADS_WIDE)
    columns = _columns(chosen.namespace is None, output, *tables)
    await WorkloadWatch(client, management, chosen, output, columns).run()


def _columns(everywhere: bool, output: str, plain: Sequence[str], wide: Sequence[str]) -> list[str]:
    return [*(["namespace"] if everywhere else []), *(wide if output == "wide" else plain)]


def _print(found: Mapping[str, list[dict[str, Any]]], output: str, everywhere: bool, *, single: bool) -> None:
    if output in ("json", "yaml"):
        first = next(iter(found.values()), [])
        print_data(found if len(found) > 1 else first[0] if single else first, output)
        return
    if output == "name":
        for kind, rows in found.items():
            for row in rows:
                click.echo(f"{row.get('kind', kind.removesuffix('s')).lower()}/{row['name']}")
        return
    tables = {
        "workers": _columns(False, output, _WORKERS, _WORKERS_WIDE),
        "jobs": _columns(everywhere, output, _JOBS, _JOBS_WIDE),
        "workloads": _columns(everywhere, output, _WORKLOADS, _WORKLOADS_WIDE),
    }
    shown = False
    for kind, rows in found.items():
        if not rows:
            if kind != "workloads" or len(found) == 1:
                click.echo(f"no {kind if kind == 'workers' else f'delegated {kind}'} found", err=True)
            continue
        if shown:
            click.echo()
        print_table([_shortened(row) for row in rows], tables[kind], widest=None if output == "wide" else _WIDEST)
        shown = True
    if counts := Counter(row["status"].lower() for kind, rows in found.items() if kind != "workers" for row in rows):
        click.echo(_summary(counts), err=True)


def _shortened(row: dict[str, Any]) -> dict[str, Any]:
    from jobrelay.cli.short_reason import short_reason

    return row | {"why": short_reason(row["why"])} if "why" in row else row


def _summary(counts: Counter[str]) -> str:
    """`3 workloads: 2 running, 1 waiting`."""
    number = counts.total()
    parts = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    return f"{number} workload{'s' * (number != 1)}: {parts}"
