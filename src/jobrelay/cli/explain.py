"""`jobrelay explain`: explains why a delegated workload is where it is."""

from __future__ import annotations

from typing import Any

import click

from jobrelay.cli.arguments import WORKLOAD, WorkloadName
from jobrelay.cli.kinds import Kinds, kind_options
from jobrelay.cli.management import NAMESPACE, Management, management_options, run
from jobrelay.cli.output import output_option


@click.command(short_help="Explain why a delegated workload is where it is.")
@WORKLOAD
@NAMESPACE
@output_option("text", "json", "yaml")
@kind_options
@management_options
def explain(workload: WorkloadName, namespace: str | None, output: str, kinds: Kinds, management: Management) -> None:
    """Explain why a delegated workload is where it is: a sentence, its stage, and whether each worker could run it.

    The explanation comes from the relay, so it shows what the relay's decisions are based on. If the relay cannot be
    reached, a note says so, and what the management cluster knows is shown instead.

    \b
    jobrelay explain job/train
    jobrelay explain job/train -n research -o json
    jobrelay explain jobset/train
    jobrelay explain pipelinerun/build
    """
    from jobrelay.cli.explanation import print_explanation

    print_explanation(run(_explain(workload, namespace, kinds, management)), output)


async def _explain(
    workload: WorkloadName, namespace: str | None, kinds: Kinds, management: Management
) -> dict[str, Any]:
    async with kinds.relay(management, namespace) as relay:
        return await relay.explain(workload)
