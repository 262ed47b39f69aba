"""`jobrelay worker check`: shows what works on workers and which permissions are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jobrelay.cli.arguments import complete_workers
from jobrelay.cli.kinds import Kinds, kind_options
from jobrelay.cli.management import Management, management_options, run
from jobrelay.cli.output import output_option, print_rows
from jobrelay.cli.relay.tuning import Tuning

if TYPE_CHECKING:
    from jobrelay.kube import Client
    from jobrelay.operate.findings import Finding
    from jobrelay.relay.copy_rules import CopyRules

_COLUMNS = ("worker", "check", "result", "detail")


@click.command(short_help="Show what works on workers and which permissions are missing.")
@click.argument("names", metavar="[NAME...]", nargs=-1, shell_complete=complete_workers)
@click.option("--origin", metavar="NAME", help="The relay's --origin, if it was started with one.")
@output_option("table", "json")
@click.option(
    "--copy", "copies", metavar="KIND[:NAMESPACE,...]", multiple=True,
    help="What the relay copies to workers, if it cannot be asked; may be repeated.",
)  # fmt: skip
@kind_options
@management_options
def check(
    names: tuple[str, ...],
    origin: str | None,
    output: str,
    copies: tuple[str, ...],
    kinds: Kinds,
    management: Management,
) -> None:
    """Show what works on each worker and what is missing, using the relay's own kubeconfig for it.

    Nothing is changed: permissions are queried, and mirrors are created by dry run only. `limited` means that it
    works in part: a kind that a worker does not serve, or forbids, keeps it from running that kind only. The exit code
    is 1 if something is missing.

    \b
    jobrelay worker check
    jobrelay worker check west -o json
    """
    found = run(_check(names, origin, Tuning(copy=copies), kinds, management))
    rows: list[dict[str, Any]] = [{column: getattr(each, column) for column in _COLUMNS} for each in found]
    print_rows(rows, _COLUMNS, output)
    if any(each.result == "missing" for each in found):
        raise click.exceptions.Exit(1)


async def _check(
    names: tuple[str, ...], origin: str | None, given: Tuning, kinds: Kinds, management: Management
) -> list[Finding]:
    import asyncio

    from jobrelay.kube import SystemClock
    from jobrelay.operate.checking import CheckRequest
    from jobrelay.operate.checking import check as check_worker
    from jobrelay.operate.registry import list_workers
    from jobrelay.relay.relay import find_origin

    async with management.connect() as client:
        chosen = names or tuple(each.name for each in await list_workers(client))
        ours, adapters = origin or await find_origin(client), await kinds.adapters(client, management)
        copies = given.copies if given.copy else await _copies(client, management)
        requests = [CheckRequest(name, management.relay_namespace, ours, adapters, copies) for name in chosen]
        found = await asyncio.gather(*(check_worker(client, request, SystemClock()) for request in requests))
    return [each for some in found for each in some]


async def _copies(client: Client, management: Management) -> CopyRules:
    """What the relay copies; nothing if it does not answer."""
    from jobrelay.relay.copy_rules import parse_rules
    from jobrelay.sdk.relay_api import try_query_relay

    reply = await try_query_relay(client, management, "/copies")
    return parse_rules(reply.value or ())
