"""`jobrelay worker`: registers workers, and says what is wanted of them."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence

import click

from jobrelay.cli.check import check
from jobrelay.cli.errors import Failure
from jobrelay.cli.join import join, leave
from jobrelay.cli.management import Management, management_options, run
from jobrelay.cli.target import complete_workers

_NAMES = click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_workers)


@click.group()
def worker() -> None:
    """Register workers, cordon and drain them.

    A worker is a MultiKueueCluster object and a Secret with its kubeconfig. `jobrelay get workers` lists them.
    """


worker.add_command(join)
worker.add_command(leave)
worker.add_command(check)


@worker.command(short_help="Register a worker, or replace its kubeconfig.")
@click.argument("name", metavar="NAME")
@click.argument("worker_kubeconfig", metavar="KUBECONFIG", type=click.Path(path_type=pathlib.Path))
@click.option("--label", "labels", metavar="KEY=VALUE", multiple=True, help="A label on the worker; may be repeated.")
@click.option("--cost", metavar="NUMBER", help="What running there costs, for placement by cost.")
@click.option("--weight", metavar="NUMBER", help="How large its share is, for placement by weight.")
@management_options
def add(
    name: str,
    worker_kubeconfig: pathlib.Path,
    labels: tuple[str, ...],
    cost: str | None,
    weight: str | None,
    management: Management,
) -> None:
    """Register a worker, or replace the kubeconfig of one that is registered.

    The kubeconfig must hold everything itself: no files, no plugins, no plain or unverified connections.

    \b
    jobrelay worker add west west.kubeconfig --label region=west --cost 2
    """
    from jobrelay.fleet.registry import check_kubeconfig, register
    from jobrelay.relay.names import COST, WEIGHT

    try:
        text = worker_kubeconfig.read_bytes()
    except OSError as error:
        raise Failure(f"{worker_kubeconfig} cannot be read: {error.strerror}") from None
    problem = check_kubeconfig(text)
    if problem:
        raise Failure(f"{worker_kubeconfig}: {problem}", "nothing was changed")
    metadata = {
        "labels": dict(pair(label) for label in labels),
        "annotations": {key: value for key, value in ((COST, cost), (WEIGHT, weight)) if value is not None},
    }

    async def work() -> bool:
        async with management.connect() as client:
            return await register(client, name, text, management.relay_namespace, **metadata)

    click.echo(f"worker {name} {'registered' if run(work()) else 'updated'}", err=True)


def pair(text: str) -> tuple[str, str]:
    """`KEY=VALUE`; raises Failure."""
    key, equals, value = text.partition("=")
    if not equals:
        raise Failure(f"--label {text}: not KEY=VALUE", "write it as --label region=west")
    return key, value


@worker.command(short_help="Forget workers; their Jobs are started elsewhere after the timeout.")
@_NAMES
@management_options
def remove(names: tuple[str, ...], management: Management) -> None:
    """Forget workers. Drain them first: what still runs there counts as lost, and is started elsewhere after the timeout."""
    from jobrelay.fleet.registry import unregister

    async def work() -> None:
        async with management.connect() as client:
            for name in names:
                await unregister(client, name, management.relay_namespace)
                click.echo(f"worker {name} removed", err=True)

    run(work())


@worker.command(short_help="Give workers no new Jobs.")
@_NAMES
@management_options
def cordon(names: tuple[str, ...], management: Management) -> None:
    """Give workers no new Jobs; what runs there runs on."""
    _set(names, "cordoned", management)


@worker.command(short_help="Give workers no new Jobs, and move theirs elsewhere.")
@_NAMES
@management_options
def drain(names: tuple[str, ...], management: Management) -> None:
    """Give workers no new Jobs, and start those that run there on other workers. `jobrelay get workers` shows how many are left."""
    _set(names, "draining", management)


@worker.command(short_help="Let workers take Jobs again.")
@_NAMES
@management_options
def uncordon(names: tuple[str, ...], management: Management) -> None:
    """Let workers take Jobs again, after cordon, drain or lost."""
    _set(names, None, management)


@worker.command(short_help="Declare workers dead: their Jobs start elsewhere at once.")
@_NAMES
@management_options
def lost(names: tuple[str, ...], management: Management) -> None:
    """Declare unreachable workers dead, so that their Jobs are started elsewhere without waiting for the timeout."""
    _set(names, "lost", management)


def _set(names: Sequence[str], state: str | None, management: Management) -> None:
    from jobrelay.fleet.registry import set_state

    async def work() -> None:
        async with management.connect() as client:
            for name in names:
                await set_state(client, name, state)
                click.echo(f"worker {name} {state or 'open'}", err=True)

    run(work())
