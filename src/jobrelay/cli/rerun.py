"""`jobrelay rerun`: creates a workload again from one that has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from jobrelay.cli.arguments import WORKLOAD, WorkloadName
from jobrelay.cli.kinds import Kinds, kind_options
from jobrelay.cli.management import NAMESPACE, Management, management_options, run
from jobrelay.cli.output import output_option

if TYPE_CHECKING:
    from jobrelay.sdk.relay import SubmittedWorkload


@click.command(short_help="Create a workload again from one that has ended.")
@WORKLOAD
@NAMESPACE
@click.option("--name", metavar="NAME", default="", help="The new name.  [default: the old one with five characters]")
@click.option("--wait", is_flag=True, help="Wait for the end; the exit code is 0 if it succeeds, 1 if it fails.")
@click.option("--logs", is_flag=True, help="Follow the logs until the end, then as --wait.")
@output_option("text", "name", "json", "yaml")
@kind_options
@management_options
def rerun(
    workload: WorkloadName,
    namespace: str | None,
    name: str,
    wait: bool,
    logs: bool,
    output: str,
    kinds: Kinds,
    management: Management,
) -> None:
    """Create a workload again from one that has ended, which stays as it is.

    The new one has the old one's spec, labels and annotations, without what the API server and the relay have added.

    \b
    jobrelay rerun job/train
    jobrelay rerun job/train --name train-2 --logs
    """
    from jobrelay.cli.waiting import Waiting, attend

    made = run(_rerun(workload, namespace, name, kinds, management))
    waiting = Waiting(output, None, wait or logs, logs, management, kinds.kind_files)
    raise click.exceptions.Exit(attend([made], waiting, kinds))


async def _rerun(
    workload: WorkloadName, namespace: str | None, name: str, kinds: Kinds, management: Management
) -> SubmittedWorkload:
    async with kinds.relay(management, namespace) as relay:
        return await relay.rerun(workload, name)
