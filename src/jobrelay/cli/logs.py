"""`jobrelay logs`: prints the logs of a delegated workload's pods from the worker that runs it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from jobrelay.cli.arguments import WORKLOAD, WorkloadName
from jobrelay.cli.colours import log_prefix
from jobrelay.cli.kinds import Kinds, kind_options
from jobrelay.cli.management import NAMESPACE, Management, management_options, run
from jobrelay.cli.options import duration_seconds, optional_seconds

if TYPE_CHECKING:
    from jobrelay.sdk.pod_logs import LogOptions
    from jobrelay.sdk.relay import AsyncRelay, WorkloadLike

__all__ = ["logs", "note", "print_logs"]


@click.command(short_help="Print the logs of a delegated workload from its worker.")
@WORKLOAD
@NAMESPACE
@click.option("-f", "--follow", is_flag=True, help="Keep printing until the workload ends.")
@click.option("-c", "--container", metavar="NAME", default="", help="The container.  [default: all of each pod]")
@click.option("--tail", metavar="LINES", type=click.IntRange(0), help="Print only the last lines of each container.")
@click.option("--since", metavar="DURATION", callback=optional_seconds, help="Print only what is newer than this.")
@click.option("--index", metavar="N", type=click.IntRange(0), help="Print only this index of an indexed Job.")
@click.option("--prefix", is_flag=True, help="Begin each line with its pod and container.")
@click.option("--timestamps", is_flag=True, help="Begin each line with the time at which it was written.")
@click.option(
    "--pod-running-timeout", "timeout", metavar="DURATION", callback=duration_seconds, default="20s", show_default=True,
    help="How long to wait for a pod to start; with -f, as long as it takes.",
)  # fmt: skip
@kind_options
@management_options
def logs(
    workload: WorkloadName,
    namespace: str | None,
    follow: bool,
    container: str,
    tail: int | None,
    since: float | None,
    index: int | None,
    prefix: bool,
    timestamps: bool,
    timeout: float,
    kinds: Kinds,
    management: Management,
) -> None:
    """Print the logs of a delegated workload's pods, from the worker that runs it or ran it last.

    The pods are those that its kind names: of a RayJob the submitter and its cluster, of a PipelineRun those of its
    tasks. The relay reads them for you; where it does not serve its API, the worker is reached through the kubeconfig
    in its Secret, which only operators may read. Logs are available as long as the relay keeps finished mirrors; after
    that, what it has kept of them (relay run --keep-logs).

    -f waits while the workload does, says why, follows it when it moves to another worker, and ends with it.

    \b
    jobrelay logs job/train
    jobrelay logs job/train -f
    jobrelay logs job/train -f --index 3 --since 10m --timestamps
    jobrelay logs jobset/train --prefix
    """
    from jobrelay.sdk.pod_logs import LogOptions

    options = LogOptions(container, tail, follow=follow, index=index, since=since, timestamps=timestamps)
    run(_logs(management, kinds, workload, namespace, options, prefix, timeout))


async def _logs(
    management: Management,
    kinds: Kinds,
    workload: WorkloadName,
    namespace: str | None,
    options: LogOptions,
    prefix: bool,
    seconds: float,
) -> None:
    async with kinds.relay(management, namespace) as relay:
        await print_logs(relay, workload, options, prefix=prefix, within=seconds)


async def print_logs(
    relay: AsyncRelay, workload: WorkloadLike, options: LogOptions, *, prefix: bool = False, within: float = 20.0
) -> None:
    """Prints the lines on stdout, and on stderr what is to be known beside them."""
    async for line in relay.logs(workload, options, within=within, note=note):
        if prefix:
            click.echo(log_prefix(line.pod, line.container), nl=False)
        sys.stdout.buffer.write(line.raw)
        sys.stdout.buffer.flush()


def note(text: str) -> None:
    """Prints what is no data."""
    click.echo(f"note: {text}", err=True)
