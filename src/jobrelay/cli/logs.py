"""`jobrelay logs`: prints the logs of a delegated workload's pods from the worker that runs it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from jobrelay.cli.arguments import WORKLOAD, WorkloadName
from jobrelay.cli.errors import Failure
from jobrelay.cli.kinds import Kinds, kind_options
from jobrelay.cli.management import NAMESPACE, Management, management_options, run
from jobrelay.cli.options import duration_seconds

if TYPE_CHECKING:
    from jobrelay.cli.pod_logs import LogOptions, MirrorLogs
    from jobrelay.kube import Client, Object
    from jobrelay.workloads import Adapter

_POLL_INTERVAL = 0.25


@click.command(short_help="Print the logs of a delegated workload from its worker.")
@WORKLOAD
@NAMESPACE
@click.option("-f", "--follow", is_flag=True, help="Keep printing until the workload ends.")
@click.option("-c", "--container", metavar="NAME", default="", help="The container.  [default: all of each pod]")
@click.option("--tail", metavar="LINES", type=click.IntRange(0), help="Print only the last lines of each container.")
@click.option("--prefix", is_flag=True, help="Begin each line with its pod and container.")
@click.option(
    "--pod-running-timeout", "timeout", metavar="DURATION", callback=duration_seconds, default="20s", show_default=True,
    help="How long to wait for a pod to start.",
)  # fmt: skip
@kind_options
@management_options
def logs(
    workload: WorkloadName,
    namespace: str | None,
    follow: bool,
    container: str,
    tail: int | None,
    prefix: bool,
    timeout: float,
    kinds: Kinds,
    management: Management,
) -> None:
    """Print the logs of a delegated workload's pods, from the worker that runs it or ran it last.

    The pods are those that its kind names: of a RayJob the submitter and its cluster, of a PipelineRun those of its
    tasks. The relay reads them for you; where it does not serve its API, the worker is reached through the kubeconfig
    in its Secret, which only operators may read. Logs are available as long as the relay keeps finished mirrors.

    \b
    jobrelay logs job/train
    jobrelay logs job/train -f
    jobrelay logs jobset/train --prefix
    """
    from jobrelay.cli.pod_logs import LogOptions

    options = LogOptions(container, tail, follow=follow, prefix=prefix)
    run(_logs(management, kinds, workload, namespace, options, timeout))


async def _logs(
    management: Management,
    kinds: Kinds,
    workload: WorkloadName,
    namespace: str | None,
    options: LogOptions,
    seconds: float,
) -> None:
    from jobrelay.cli.api_logs import print_api_logs
    from jobrelay.cli.pod_logs import MirrorLogs
    from jobrelay.cli.workloads import find_adapter
    from jobrelay.kube import connect
    from jobrelay.operate.registry import worker_connection

    async with management.connect() as client:
        where = management.namespace(namespace)
        adapter = find_adapter(workload.kind, await kinds.adapters(client, management))
        end = time.monotonic() + seconds
        if await print_api_logs(client, adapter.resource, workload.name, where, options, end):
            return
        original, cluster = await _assigned(client, adapter, workload.name, where, end)
        connection = await worker_connection(client, cluster, management.relay_namespace)
    async with connect(connection) as there:
        found = MirrorLogs(there, adapter, original, options)
        await _until_started(found, cluster, end)
        await found.print()


async def _assigned(client: Client, adapter: Adapter, name: str, namespace: str, end: float) -> tuple[Object, str]:
    """A workload and its worker; waits for the assignment until `end`."""
    import asyncio

    from jobrelay.cli.workloads import get_workload
    from jobrelay.relay.assignment import assignment_of

    kind = adapter.resource.kind
    while True:
        original = await get_workload(client, adapter, name, namespace)
        to = assignment_of(original)
        if to is not None:
            return original, to.cluster
        if time.monotonic() >= end:
            hint = f"`jobrelay explain {kind.lower()}/{name}` says why"
            raise Failure(f"no worker runs {kind} {namespace}/{name} yet", hint)
        await asyncio.sleep(_POLL_INTERVAL)


async def _until_started(found: MirrorLogs, cluster: str, end: float) -> None:
    """Wait for the first pod that has started, until `end`."""
    import asyncio

    while not await found.started():
        if time.monotonic() >= end:
            hint = await found.why_none()
            raise Failure(f"no pod of {found.described} has started on worker {cluster}", hint)
        await asyncio.sleep(_POLL_INTERVAL)
