"""`jobrelay logs`: the output of a delegated Job's pods, read from the worker that runs it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from jobrelay.cli.errors import Failure
from jobrelay.cli.management import NAMESPACE, Management, management_options, run
from jobrelay.cli.target import JOB

if TYPE_CHECKING:
    from jobrelay.kube import Client, Object


@click.command(short_help="Print the logs of a delegated Job from its worker.")
@JOB
@NAMESPACE
@click.option("-f", "--follow", is_flag=True, help="Go on until the pods end.")
@click.option("-c", "--container", metavar="NAME", default="", help="Which container.  [default: the only one]")
@click.option("--tail", metavar="LINES", type=click.IntRange(0), help="Only the last lines.")
@management_options
def logs(
    name: str, namespace: str | None, follow: bool, container: str, tail: int | None, management: Management
) -> None:
    """Print the logs of a delegated Job's pods, from the worker that runs it or ran it last.

    The worker is reached by the kubeconfig in its Secret. Logs stay there for as long as the relay keeps finished mirrors.

    \b
    jobrelay logs job/train
    jobrelay logs job/train -f
    """
    run(_logs(name, namespace, follow, container, tail, management))


async def _logs(
    name: str, namespace: str | None, follow: bool, container: str, tail: int | None, management: Management
) -> None:
    from jobrelay.fleet.registry import worker_connection
    from jobrelay.kube import NotFound, connect
    from jobrelay.kube.resource import JOBS
    from jobrelay.relay.assignment import assignment_of

    async with management.connect() as client:
        where = management.namespace(namespace)
        try:
            job = await client.get(JOBS, name, where)
        except NotFound:
            raise Failure(f"there is no Job {where}/{name}", "`jobrelay get jobs -A` lists delegated Jobs") from None
        to = assignment_of(job)
        if to is None:
            raise Failure(f"no worker runs {where}/{name} yet", f"`jobrelay explain job/{name}` says why")
        connection = await worker_connection(client, to.cluster, management.relay_namespace)
    async with connect(connection) as there:
        pods = await _pods(there, job)
        if not pods:
            raise Failure(f"there are no pods of {where}/{name} on {to.cluster}", "they may be gone, or yet to come")
        for pod in pods:
            async with there.logs(pod.name, where, container=container, follow=follow, tail_lines=tail) as chunks:
                async for chunk in chunks:
                    sys.stdout.buffer.write(chunk)
                    sys.stdout.buffer.flush()


async def _pods(client: Client, job: Object) -> list[Object]:
    """The pods of a Job's mirror; it has another name where the worker is the management cluster itself."""
    from jobrelay.kube.resource import JOBS, PODS
    from jobrelay.workloads.names import ORIGIN, ORIGIN_UID

    marked = (await client.list(JOBS, job.namespace, label_selector=ORIGIN)).items
    mirrors = [each for each in marked if each.metadata.annotations.get(ORIGIN_UID) == job.uid]
    found: list[Object] = []
    for mirror in mirrors:
        selector = f"batch.kubernetes.io/controller-uid={mirror.uid}"
        found += (await client.list(PODS, job.namespace, label_selector=selector)).items
    return sorted(found, key=lambda pod: (pod.metadata.creation_timestamp or "", pod.name))
