"""`jobrelay logs`: the output of a delegated Job's pods, read from the worker that runs it."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, NamedTuple

import click

from jobrelay.cli.durations import seconds
from jobrelay.cli.errors import Failure
from jobrelay.cli.management import NAMESPACE, Management, management_options, run
from jobrelay.cli.target import JOB

if TYPE_CHECKING:
    from jobrelay.kube import Client, Object

_LOOK_EVERY = 0.25


@click.command(short_help="Print the logs of a delegated Job from its worker.")
@JOB
@NAMESPACE
@click.option("-f", "--follow", is_flag=True, help="Go on until the pods end.")
@click.option("-c", "--container", metavar="NAME", default="", help="Which container.  [default: the only one]")
@click.option("--tail", metavar="LINES", type=click.IntRange(0), help="Only the last lines.")
@click.option(
    "--pod-running-timeout", "patience", metavar="DURATION", callback=seconds, default="20s", show_default=True,
    help="How long to wait for a pod that runs or has run.",
)  # fmt: skip
@management_options
def logs(
    name: str,
    namespace: str | None,
    follow: bool,
    container: str,
    tail: int | None,
    patience: float,
    management: Management,
) -> None:
    """Print the logs of a delegated Job's pods, from the worker that runs it or ran it last.

    The worker is reached by the kubeconfig in its Secret. Logs stay there for as long as the relay keeps finished mirrors.

    \b
    jobrelay logs job/train
    jobrelay logs job/train -f
    """
    run(_logs(management, name, namespace, _Part(container, follow, tail), patience))


class _Part(NamedTuple):
    """Which part of the logs to show."""

    container: str
    follow: bool
    tail_lines: int | None


async def _logs(management: Management, name: str, namespace: str | None, part: _Part, patience: float) -> None:
    from jobrelay.fleet.registry import worker_connection
    from jobrelay.kube import connect

    async with management.connect() as client:
        where = management.namespace(namespace)
        end = time.monotonic() + patience
        job, cluster = await _assigned(client, name, where, end)
        connection = await worker_connection(client, cluster, management.relay_namespace)
    async with connect(connection) as there:
        for pod in await _begun_pods(there, job, cluster, end):
            async with there.logs(pod.name, where, **part._asdict()) as chunks:
                async for chunk in chunks:
                    sys.stdout.buffer.write(chunk)
                    sys.stdout.buffer.flush()


async def _assigned(client: Client, name: str, namespace: str, end: float) -> tuple[Object, str]:
    """A Job and its worker, waited for until `end`."""
    import asyncio

    from jobrelay.kube import NotFound
    from jobrelay.kube.resource import JOBS
    from jobrelay.relay.assignment import assignment_of

    while True:
        try:
            job = await client.get(JOBS, name, namespace)
        except NotFound:
            raise Failure(
                f"there is no Job {namespace}/{name}", "`jobrelay get jobs -A` lists delegated Jobs"
            ) from None
        to = assignment_of(job)
        if to is not None:
            return job, to.cluster
        if time.monotonic() >= end:
            raise Failure(f"no worker runs {namespace}/{name} yet", f"`jobrelay explain job/{name}` says why")
        await asyncio.sleep(_LOOK_EVERY)


async def _begun_pods(client: Client, job: Object, cluster: str, end: float) -> list[Object]:
    """The pods of a Job's mirror that have begun, the oldest first; at least one, waited for until `end`."""
    import asyncio

    while True:
        pods = await _pods(client, job)
        begun = [pod for pod in pods if (pod.decode().get("status") or {}).get("phase") not in (None, "Pending")]
        if begun:
            return sorted(begun, key=lambda pod: (pod.metadata.creation_timestamp or "", pod.name))
        if time.monotonic() >= end:
            hint = "they wait for a node" if pods else "they may be gone, or yet to come"
            raise Failure(f"no pod of {job.namespace}/{job.name} has begun on {cluster}", hint)
        await asyncio.sleep(_LOOK_EVERY)


async def _pods(client: Client, job: Object) -> list[Object]:
    """All pods of a Job's mirror; it has another name where the worker is the management cluster itself."""
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
