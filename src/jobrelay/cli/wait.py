"""`jobrelay wait`: waits for the end of delegated workloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from jobrelay.cli.arguments import WORKLOADS, WorkloadName
from jobrelay.cli.kinds import Kinds, kind_options
from jobrelay.cli.management import NAMESPACE, Management, management_options, run
from jobrelay.cli.options import optional_seconds
from jobrelay.cli.output import output_option, print_data

if TYPE_CHECKING:
    from jobrelay.sdk.relay import WorkloadResult


@click.command(short_help="Wait for the end of delegated workloads.")
@WORKLOADS
@NAMESPACE
@click.option("--timeout", metavar="DURATION", callback=optional_seconds, help="Wait no longer than this.")
@output_option("text", "json", "yaml")
@kind_options
@management_options
def wait(
    workloads: tuple[WorkloadName, ...],
    namespace: str | None,
    timeout: float | None,
    output: str,
    kinds: Kinds,
    management: Management,
) -> None:
    """Wait for the end of delegated workloads, and say meanwhile why they wait, where they run and when they move.

    The exit code is 0 if all have succeeded, 1 if one has failed, and 124 if one has not ended within --timeout.

    \b
    jobrelay wait job/train
    jobrelay wait job/train jobset/render --timeout 2h -o json
    """
    from jobrelay.cli.waiting import exit_code, printed_result

    results = run(_wait(workloads, namespace, timeout, kinds, management))
    if output in ("json", "yaml"):
        names = [{"kind": each.kind, "name": each.name} for each in workloads]
        print_data([name | printed_result(each) for name, each in zip(names, results, strict=True)], output)
    raise click.exceptions.Exit(exit_code(results))


async def _wait(
    workloads: tuple[WorkloadName, ...],
    namespace: str | None,
    within: float | None,
    kinds: Kinds,
    management: Management,
) -> list[WorkloadResult | None]:
    from jobrelay.cli.waiting import wait_for_all

    async with kinds.relay(management, namespace) as relay:
        return await wait_for_all(relay, workloads, within)
