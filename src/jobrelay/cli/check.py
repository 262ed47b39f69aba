"""`jobrelay worker check`: shows what works on workers and which permissions are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jobrelay.cli.arguments import complete_workers
from jobrelay.cli.management import Management, management_options, run
from jobrelay.cli.output import output_option, print_rows

if TYPE_CHECKING:
    from jobrelay.operate.checking import Finding

_COLUMNS = ("worker", "check", "result", "detail")


@click.command(short_help="Show what works on workers and which permissions are missing.")
@click.argument("names", metavar="[NAME...]", nargs=-1, shell_complete=complete_workers)
@click.option("--origin", metavar="NAME", help="The relay's --origin, if it was started with one.")
@output_option("table", "json")
@management_options
def check(names: tuple[str, ...], origin: str | None, output: str, management: Management) -> None:
    """Show what works on each worker and what is missing, using the relay's own kubeconfig for it.

    Nothing is changed: permissions are queried, and mirrors are created by dry run only. `limited` means that it
    works in part. The exit code is 1 if something is missing.

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

    from jobrelay.kube import SystemClock
    from jobrelay.operate.checking import check as check_worker
    from jobrelay.operate.registry import list_workers
    from jobrelay.relay.relay import find_origin

    async with management.connect() as client:
        chosen = names or tuple(each.name for each in await list_workers(client))
        ours = origin or await find_origin(client)
        found = await asyncio.gather(
            *(check_worker(client, name, management.relay_namespace, ours, SystemClock()) for name in chosen)
        )
    return [each for some in found for each in some]
