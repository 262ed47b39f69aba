"""`jobrelay exec`: runs a command in a pod of a delegated workload, wherever that runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from jobrelay.cli.arguments import WORKLOAD, WorkloadName
from jobrelay.cli.kinds import Kinds, kind_options
from jobrelay.cli.management import NAMESPACE, Management, management_options, run

if TYPE_CHECKING:
    from jobrelay.sdk.commands import PodCommand

__all__ = ["exec_"]


@click.command("exec", short_help="Run a command in a pod of a delegated workload.")
@WORKLOAD
@click.argument("command", metavar="-- COMMAND...", nargs=-1, required=True)
@NAMESPACE
@click.option("-c", "--container", metavar="NAME", default="", help="The container.  [default: as kubectl exec]")
@click.option("--pod", metavar="NAME", default="", help="The pod, by its name on the worker.")
@click.option("--index", metavar="N", type=click.IntRange(0), help="The pod of this index of an indexed Job.")
@click.option("-i", "--stdin", is_flag=True, help="Pass stdin to the command.")
@click.option("-t", "--tty", is_flag=True, help="Give the command a terminal, if this is one.")
@kind_options
@management_options
def exec_(
    workload: WorkloadName,
    command: tuple[str, ...],
    namespace: str | None,
    container: str,
    pod: str,
    index: int | None,
    stdin: bool,
    tty: bool,
    kinds: Kinds,
    management: Management,
) -> None:
    """Run a command in a pod of a delegated workload, on the worker that runs it.

    It runs in the only pod of the workload that runs; if there are several, choose one by --pod or --index. The exit
    code is that of the command, or 2 if it could not be run. The relay does it for you if you may `create pods/exec` in
    the namespace; where it does not serve its API, the worker is reached through the kubeconfig in its Secret, which
    only operators may read.

    \b
    jobrelay exec job/train -- nvidia-smi
    jobrelay exec job/train -it -- bash
    jobrelay exec job/train --index 3 -i -- tar xf - -C /data < data.tar
    """
    from jobrelay.sdk.commands import PodCommand

    if tty and not sys.stdin.isatty():
        click.echo("note: there is no terminal here, so the command gets none", err=True)
        tty = False
    asked = PodCommand(command, container, pod, index, stdin=stdin, tty=tty)
    if code := run(_exec(management, kinds, workload, namespace, asked)):
        raise click.exceptions.Exit(code)


async def _exec(
    management: Management, kinds: Kinds, workload: WorkloadName, namespace: str | None, command: PodCommand
) -> int:
    from jobrelay.cli.streams import CommandStreams
    from jobrelay.kube.remote_command import exit_code
    from jobrelay.sdk.commands import open_command

    async with (
        kinds.relay(management, namespace) as relay,
        open_command(relay, management.connection(), workload, command) as socket,
    ):
        status = await CommandStreams(socket, stdin=command.stdin, tty=command.tty).run()
    return exit_code(status)
