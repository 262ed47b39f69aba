"""`jobrelay worker`: registers workers and sets their state."""

from __future__ import annotations

import pathlib

import click

from jobrelay.cli.arguments import complete_workers
from jobrelay.cli.check import check
from jobrelay.cli.errors import Failure
from jobrelay.cli.join import join, leave
from jobrelay.cli.lost import CarefulGroup, lost
from jobrelay.cli.management import Management, management_options, run
from jobrelay.cli.options import optional_seconds
from jobrelay.cli.output import output_option
from jobrelay.cli.worker_options import COST, LABELS, WEIGHT, worker_metadata

_NAMES = click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_workers)


@click.group(cls=CarefulGroup)
def worker() -> None:
    """Register, join, check, cordon and drain workers.

    A worker is a MultiKueueCluster object and a Secret with its kubeconfig.
    """


worker.add_command(join)
worker.add_command(leave)
worker.add_command(check)
worker.add_command(lost)


@worker.command("list", short_help="List workers with their state and capacity.")
@output_option("table", "wide", "json", "yaml", "name")
@management_options
def list_workers(output: str, management: Management) -> None:
    """List workers with their state and capacity, as `jobrelay get workers` does."""
    from jobrelay.cli.get import get_workers

    run(get_workers(output, management))


@worker.command(short_help="Register a worker, or replace its kubeconfig.")
@click.argument("name", metavar="NAME")
@click.argument("worker_kubeconfig", metavar="KUBECONFIG", type=click.Path(path_type=pathlib.Path))
@LABELS
@COST
@WEIGHT
@management_options
def add(
    name: str,
    worker_kubeconfig: pathlib.Path,
    labels: tuple[str, ...],
    cost: str | None,
    weight: str | None,
    management: Management,
) -> None:
    """Register a worker, or replace the kubeconfig of a registered one.

    The kubeconfig must be self-contained and use verified TLS: it must not refer to files or credential plugins.

    \b
    jobrelay worker add west west.kubeconfig --label region=west --cost 2
    """
    from jobrelay.operate.registry import check_kubeconfig, register_worker

    try:
        text = worker_kubeconfig.read_bytes()
    except OSError as error:
        raise Failure(f"{worker_kubeconfig} cannot be read: {error.strerror}") from None
    problem = check_kubeconfig(text)
    if problem:
        raise Failure(f"{worker_kubeconfig}: {problem}", "nothing was changed")
    metadata = worker_metadata(labels, cost, weight)

    async def work() -> bool:
        async with management.connect() as client:
            return await register_worker(client, name, text, management.relay_namespace, **metadata)

    click.echo(f"worker {name} {'registered' if run(work()) else 'updated'}", err=True)


@worker.command(short_help="Unregister workers; their Jobs start elsewhere after the timeout.")
@_NAMES
@management_options
def remove(names: tuple[str, ...], management: Management) -> None:
    """Unregister workers.

    Drain them first: Jobs that still run there count as lost and start elsewhere after the timeout.
    """
    from jobrelay.operate.registry import unregister_worker

    async def work() -> None:
        async with management.connect() as client:
            for name in names:
                await unregister_worker(client, name, management.relay_namespace)
                click.echo(f"worker {name} removed", err=True)

    run(work())


@worker.command(short_help="Place no new Jobs on workers, and move their Jobs elsewhere.")
@_NAMES
@click.option("--wait", is_flag=True, help="Wait until they hold no workloads any more.")
@click.option("--timeout", metavar="DURATION", callback=optional_seconds, help="With --wait: wait no longer than this.")
@management_options
@click.pass_context
def drain(
    context: click.Context, names: tuple[str, ...], wait: bool, timeout: float | None, management: Management
) -> None:
    """Place no new Jobs on workers, and restart the Jobs that run there on other workers.

    A Job that no other worker can take stays until one can. The exit code is 124 if workers are not empty within
    --timeout; they stay drained, and `jobrelay worker list` shows how many Jobs are left.

    \b
    jobrelay worker drain west
    jobrelay worker drain west --wait --timeout 30m
    """
    if not run(_drain(names, wait, timeout, management)):
        context.exit(124)


async def _drain(names: tuple[str, ...], wait: bool, within: float | None, management: Management) -> bool:
    from jobrelay.cli.draining import wait_until_empty
    from jobrelay.cli.workers_listing import worker_views
    from jobrelay.kube import SystemClock
    from jobrelay.operate.registry import set_worker_state

    async with management.connect() as client:
        for each in names:
            await set_worker_state(client, each, "draining")
            click.echo(f"worker {each} draining", err=True)
        if not wait:
            return True
        return await wait_until_empty(
            names, lambda: worker_views(client, management, None), SystemClock(), within=within
        )


def _add_state_command(name: str, state: str | None, short_help: str, help: str) -> None:
    @worker.command(name, short_help=short_help, help=help)
    @_NAMES
    @management_options
    def command(names: tuple[str, ...], management: Management) -> None:
        from jobrelay.operate.registry import set_worker_state

        async def work() -> None:
            async with management.connect() as client:
                for each in names:
                    await set_worker_state(client, each, state)
                    click.echo(f"worker {each} {state or 'open'}", err=True)

        run(work())


_add_state_command(
    "cordon", "cordoned", "Place no new Jobs on workers.",
    "Place no new Jobs on workers; Jobs that run there continue.",
)  # fmt: skip
_add_state_command(
    "uncordon", None, "Let workers accept Jobs again.", "Let workers accept Jobs again, after cordon, drain or lost."
)
