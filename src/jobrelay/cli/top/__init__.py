"""`jobrelay top`: workers and workloads on a screen that stays current, or printed once."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

import click

from jobrelay.cli.errors import Failure
from jobrelay.cli.kinds import Kinds, kind_options
from jobrelay.cli.management import NAMESPACE, Management, management_options, run
from jobrelay.cli.options import duration_seconds
from jobrelay.cli.output import output_option

if TYPE_CHECKING:
    from jobrelay.cli.top.fleet_source import FleetSource

__all__ = ["top"]


@click.command(short_help="Watch workers and workloads, and look into them.")
@NAMESPACE
@click.option("-A", "--all-namespaces", is_flag=True, help="Show workloads of all namespaces.")
@click.option("--once", is_flag=True, help="Print one snapshot and end.")
@output_option("table", "json", help="Output format of --once.")
@click.option(
    "--interval", metavar="DURATION", callback=duration_seconds, default="2s", show_default=True,
    help="How long to wait between two snapshots.",
)  # fmt: skip
@kind_options
@management_options
def top(
    namespace: str | None,
    all_namespaces: bool,
    once: bool,
    output: str,
    interval: float,
    kinds: Kinds,
    management: Management,
) -> None:
    """Watch workers and workloads on a screen that stays current.

    Enter shows why the chosen workload is where it is, and its logs. / filters by any words of a row, s sorts by the
    next column and S the other way round, q ends. What is seen is what `jobrelay get` shows to the same user.

    \b
    jobrelay top
    jobrelay top -A --interval 5s
    jobrelay top --once -o json
    """
    if not once and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Failure("a screen needs a terminal", "print one snapshot with --once")
    opening = _source(kinds, management, namespace, everywhere=all_namespaces)
    run(_print(opening, output, all_namespaces) if once else _watch(opening, interval, all_namespaces))


@asynccontextmanager
async def _source(
    kinds: Kinds, management: Management, namespace: str | None, *, everywhere: bool
) -> AsyncIterator[FleetSource]:
    from jobrelay.cli.top.fleet_source import FleetSource

    async with kinds.relay(management, namespace) as relay:
        yield FleetSource(relay, management, kinds, everywhere=everywhere)


async def _print(opening: AbstractAsyncContextManager[FleetSource], output: str, everywhere: bool) -> None:
    from jobrelay.cli.top.once import print_snapshot

    async with opening as source:
        print_snapshot(await source.snapshot(), output, everywhere=everywhere)


async def _watch(opening: AbstractAsyncContextManager[FleetSource], interval: float, everywhere: bool) -> None:
    from jobrelay.cli.top.app import TopApp

    async with opening as source:
        await TopApp(source, interval=interval, everywhere=everywhere).run_async()
