"""`jobrelay worker check`: what works on workers, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jobrelay.cli.management import Management, management_options, run
from jobrelay.cli.output import print_rows
from jobrelay.cli.target import complete_workers

if TYPE_CHECKING:
    from jobrelay.operate.checking import Finding

_COLUMNS = ("worker", "check", "result", "detail")


@click.command(short_help="Say what works on workers, and which right is missing.")
@click.argument("names", metavar="[NAME...]", nargs=-1, shell_complete=complete_workers)
@click.option("--origin", metavar="NAME", help="The relay's --origin, if it has one of its own.")
@click.option(
    "-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True, help="How to print."
)
@management_options
def check(names: tuple[str, ...], origin: str | None, output: str, management: Management) -> None:
    """Say what works on each worker and what is missing, found out with the relay's own kubeconfig for it.

    Nothing is changed: rights are asked for, and mirrors are tried by dry runs. `limited` works, but not all of it. The code is 1 if
    something is missing.

    \b
    jobrelay worker check
    jobrelay worker check west -o json
    """
    found = run(_check(names, origin, management))
    rows: list[dict[str, Any]] = [{column: getattr(each, column) for column in _COLUMNS} for each in found]
    print_rows(rows, _COLUMNS, output)
    if any(each.result == "missing" for each in found):
        raise click.exceptions.Exit(1)


async def _check(names: tuple[str, ...], origin: str | None, management: Management) -> list[Finding]:
    import asyncio

    from jobrelay.fleet.registry import clusters
    from jobrelay.kube import SystemClock
    from jobrelay.operate.checking import check as check_worker
    from jobrelay.relay.relay import find_origin

    async with management.connect() as client:
        known = names or tuple(each.name for each in await clusters(client))
        ours = origin or await find_origin(client)
        found = await asyncio.gather(
            *(check_worker(client, name, management.relay_namespace, ours, SystemClock()) for name in known)
        )
    return [each for some in found for each in some]
