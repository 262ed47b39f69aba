"""`jobrelay logs`: prints the logs of a delegated Job's pods from the worker that runs it."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from jobrelay.cli.arguments import JOB, get_job
from jobrelay.cli.errors import Failure
from jobrelay.cli.management import NAMESPACE, Management, management_options, run
from jobrelay.cli.options import duration_seconds

if TYPE_CHECKING:
    from jobrelay.kube import Client, LogQuery, Object

_POLL_INTERVAL = 0.25


@click.command(short_help="Print the logs of a delegated Job from its worker.")
@JOB
@NAMESPACE
@click.option("-f", "--follow", is_flag=True, help="Keep printing until the pods end.")
@click.option("-c", "--container", metavar="NAME", default="", help="The container.  [default: the only one]")
@click.option("--tail", metavar="LINES", type=click.IntRange(0), help="Print only the last lines.")
@click.option(
    "--pod-running-timeout", "timeout", metavar="DURATION", callback=duration_seconds, default="20s", show_default=True,
    help="How long to wait for a pod to start.",
)  # fmt: skip
@management_options
def logs(
    name: str,
    namespace: str | None,
    follow: bool,
    container: str,
    tail: int | None,
    timeout: float,
    management: Management,
) -> None:
    """Print the logs of a delegated Job's pods, from the worker that runs it or ran it last.

    The worker is reached through the kubeconfig in its Secret. Logs are available as long as the relay keeps finished
    mirrors.

    \b
    jobrelay logs job/train
    jobrelay logs job/train -f
    """
    run(_logs(management, name, namespace, {"container": container, "follow": follow, "tail_lines": tail}, timeout))


async def _logs(management: Management, name: str, namespace: str | None, query: LogQuery, seconds: float) -> None:
    from jobrelay.kube import connect
    from jobrelay.operate.registry import worker_connection

    async with management.connect() as client:
        where = management.namespace(namespace)
        end = time.monotonic() + seconds
        job, cluster = await _assigned(client, name, where, end)
        connection = await worker_connection(client, cluster, management.relay_namespace)
    async with connect(connection) as there:
        for pod in await _started_pods(there, job, cluster, end):
            async with there.logs(pod.name, where, **query) as chunks:
                async for chunk in chunks:
                    sys.stdout.buffer.write(chunk)
                    sys.stdout.buffer.flush()


async def _assigned(client: Client, name: str, namespace: str, end: float) -> tuple[Object, str]:
    """A Job and its worker; waits for the assignment until `end`."""
    import asyncio

    from jobrelay.relay.assignment import assignment_of

    while True:
        job = await get_job(client, name, namespace)
        to = assignment_of(job)
        if to is not None:
            return job, to.cluster
        if time.monotonic() >= end:
            raise Failure(f"no worker runs Job {namespace}/{name} yet", f"`jobrelay explain job/{name}` says why")
        await asyncio.sleep(_POLL_INTERVAL)


async def _started_pods(client: Client, job: Object, cluster: str, end: float) -> list[Object]:
    """The pods of a Job's mirror that have started, the oldest first; waits for the first one until `end`."""
    import asyncio

    while True:
        pods = await _pods(client, job)
        started = [pod for pod in pods if (pod.decode().get("status") or {}).get("phase") not in (None, "Pending")]
        if started:
            return sorted(started, key=lambda pod: (pod.metadata.creation_timestamp or "", pod.name))
        if time.monotonic() >= end:
            hint = "its pods wait for a node there" if pods else "its pods were deleted, or are not created yet"
            raise Failure(f"no pod of Job {job.namespace}/{job.name} has started on worker {cluster}", hint)
        await asyncio.sleep(_POLL_INTERVAL)


async def _pods(client: Client, job: Object) -> list[Object]:
    """All pods of a Job's mirror, which has another name if the worker is the management cluster itself."""
    from jobrelay.kinds.batch.job.names import CONTROLLER_UID
    from jobrelay.kube.resource import JOBS, PODS
    from jobrelay.workloads.names import ORIGIN, ORIGIN_UID

    marked = (await client.list(JOBS, job.namespace, label_selector=ORIGIN)).items
    mirrors = [each for each in marked if each.metadata.annotations.get(ORIGIN_UID) == job.uid]
    found: list[Object] = []
    for mirror in mirrors:
        selector = f"{CONTROLLER_UID}={mirror.uid}"
        found += (await client.list(PODS, job.namespace, label_selector=selector)).items
    return found
