"""`jobrelay explain`: explains why a delegated workload is where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jobrelay.cli.arguments import WORKLOAD, WorkloadName
from jobrelay.cli.errors import Failure
from jobrelay.cli.kinds import Kinds, kind_options
from jobrelay.cli.management import NAMESPACE, Management, management_options, run
from jobrelay.cli.output import output_option

if TYPE_CHECKING:
    from jobrelay.sdk.relay import AsyncRelay


@click.command(short_help="Explain why a delegated workload is where it is.")
@WORKLOAD
@NAMESPACE
@click.option(
    "--if", "changes", metavar="CHANGE", multiple=True,
    help="Say what would become of it with another quota of its ClusterQueue (quota.RESOURCE=[+-]AMOUNT), or with more "
    "room on a worker (worker=NAME:RESOURCE=AMOUNT,...); can be repeated.",
)  # fmt: skip
@output_option("text", "json", "yaml")
@kind_options
@management_options
def explain(
    workload: WorkloadName,
    namespace: str | None,
    changes: tuple[str, ...],
    output: str,
    kinds: Kinds,
    management: Management,
) -> None:
    """Explain why a delegated workload is where it is: a sentence, its stage, and whether each worker could run it.

    The explanation comes from the relay, so it shows what the relay's decisions are based on. If the relay cannot be
    reached, a note says so, and what the management cluster knows is shown instead. Of a queued workload it shows the
    place in its queue and the quotas that were considered, also if it is not delegated.

    For a Job that is not delegated to the relay it says which controller the Job belongs to, whether one of that name
    is alive (by its Lease, or by statuses that it has written), and since when nothing has happened to the Job.

    \b
    jobrelay explain job/train
    jobrelay explain job/train -n research -o json
    jobrelay explain jobset/train
    jobrelay explain pipelinerun/build
    jobrelay explain job/train --if quota.cpu=+10
    jobrelay explain job/train --if worker=w4:cpu=64,memory=256Gi
    """
    from jobrelay.cli.explanation import print_explanation

    print_explanation(run(_explain(workload, namespace, changes, kinds, management)), output)


async def _explain(
    workload: WorkloadName, namespace: str | None, changes: tuple[str, ...], kinds: Kinds, management: Management
) -> dict[str, Any]:
    async with kinds.relay(management, namespace) as relay:
        found = await relay.explain(workload, changes)
        if changes and (problem := found.get("relayUnreachable")):
            raise Failure(f"--if: {problem}", "write --if quota.cpu=+10 or --if worker=w4:cpu=64")
        if any(not each.startswith("worker=") for each in changes) and not found.get("queue"):
            hint = "label it kueue.x-k8s.io/queue-name, and see --queueing"
            raise Failure("--if: it is in no queue of this relay", hint)
        return {**found, **await _owner(relay, workload)}


async def _owner(relay: AsyncRelay, workload: WorkloadName) -> dict[str, Any]:
    """Whose a Job is that the relay leaves alone."""
    from jobrelay.kube.resource import JOBS
    from jobrelay.sdk.workloads import get_workload, is_delegated

    adapter, name, namespace = await relay.find(workload)
    if adapter.resource != JOBS:
        return {}
    obj = await get_workload(relay.client, adapter, name, namespace)
    if is_delegated(adapter, adapter.read(obj)):
        return {}
    from jobrelay.conformance.ownership import look_up
    from jobrelay.kube import SystemClock

    return {"controller": (await look_up(relay.client, obj.decode(), SystemClock().now())).as_json()}
