"""`jobrelay worker join` and `leave`: makes a real cluster a worker, and undoes it."""

from __future__ import annotations

import json
import pathlib
from typing import TYPE_CHECKING, Any

import click

from jobrelay.cli.errors import Failure
from jobrelay.cli.kinds import Kinds, kind_options
from jobrelay.cli.management import Management, failures, run
from jobrelay.cli.options import duration_seconds
from jobrelay.cli.output import output_option
from jobrelay.cli.relay.tuning import Tuning
from jobrelay.cli.worker_options import (
    COST,
    LABELS,
    WEIGHT,
    WORKER_CONTEXT,
    WORKER_KUBECONFIG,
    separate_management_options,
    worker_metadata,
)

if TYPE_CHECKING:
    from jobrelay.operate.applying import Step


def _origin_name(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    from jobrelay.apimachinery.names import is_dns1123_label

    if value is not None and is_dns1123_label(value):
        raise click.BadParameter(f"{value!r} is not a valid name; use lower case letters, digits and '-'.")
    return value


_DRY_RUN = click.option("--dry-run", is_flag=True, help="Only show what would be done.")
_ORIGIN = click.option(
    "--origin", metavar="NAME", callback=_origin_name,
    help="The relay's --origin, if it was started with one.  [default: that of the management cluster]",
)  # fmt: skip
_OUTPUT = output_option("text", "json")


class JoinProgress:
    """Prints each step on stderr as it is done, or all of them as JSON at the end."""

    def __init__(self, output: str) -> None:
        self._json = output == "json"
        self._steps: list[dict[str, str]] = []

    def __call__(self, step: Step) -> None:
        self._steps.append({"cluster": step.cluster, "action": step.action, "object": step.object})
        if not self._json:
            click.echo(f"{step.cluster}: {step.object} {step.action}", err=True)

    def end(self, **result: Any) -> None:
        if self._json:
            click.echo(json.dumps({**result, "steps": self._steps}, indent=2))


def _names(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:
    from jobrelay.apimachinery.names import is_dns1123_label

    names = tuple(dict.fromkeys(name for part in value.split(",") if (name := part.strip())))
    for name in names:
        if is_dns1123_label(name):
            raise click.BadParameter(f"{name!r} is not a valid namespace; use lower case letters, digits and '-'.")
    if not names:
        raise click.BadParameter("give at least one namespace.")
    return names


def _ttl(ctx: click.Context, param: click.Parameter, value: str) -> float:
    from jobrelay.kinds.authentication.tokenrequests import MIN_TOKEN_SECONDS

    found = duration_seconds(ctx, param, value)
    if found < MIN_TOKEN_SECONDS:
        raise click.BadParameter(f"{value} is too short: API servers issue tokens for 10m or longer.")
    return found


@click.command(short_help="Make a cluster a worker, with its own identity for the relay.")
@click.argument("name", metavar="NAME")
@WORKER_KUBECONFIG
@WORKER_CONTEXT
@click.option(
    "--namespaces", metavar="A,B", required=True, callback=_names,
    help="The namespaces in which the relay may run Jobs.",
)  # fmt: skip
@separate_management_options
@click.option("--create-namespaces", is_flag=True, help="Create the namespaces that the worker does not have.")
@click.option(
    "--cluster-wide", is_flag=True,
    help="Let the relay read all nodes, pods and namespaces, so that it knows the free capacity.",
)  # fmt: skip
@click.option(
    "--copy", "copies", metavar="KIND[:NAMESPACE,...]", multiple=True,
    help="Let the relay make copies here, as of `jobrelay relay run --copy`, and look for what Jobs name; may be "
    "repeated.",
)  # fmt: skip
@click.option(
    "--exec", "commands", is_flag=True,
    help="Let the relay run commands in pods of these namespaces, for `jobrelay exec`.",
)  # fmt: skip
@click.option(
    "--ttl", metavar="DURATION", default="24h", show_default=True, callback=_ttl, help="The lifetime of tokens."
)
@click.option(
    "--without-policy", is_flag=True, help="Omit the admission policy, for workers older than Kubernetes 1.30."
)
@click.option(
    "--server", metavar="URL", default="", help="The worker's address for the relay.  [default: that in the kubeconfig]"
)
@kind_options
@LABELS
@COST
@WEIGHT
@_ORIGIN
@_DRY_RUN
@_OUTPUT
def join(
    name: str,
    worker_kubeconfig: pathlib.Path | None,
    worker_context: str | None,
    namespaces: tuple[str, ...],
    management: Management,
    create_namespaces: bool,
    cluster_wide: bool,
    copies: tuple[str, ...],
    commands: bool,
    ttl: float,
    without_policy: bool,
    server: str,
    kinds: Kinds,
    labels: tuple[str, ...],
    cost: str | None,
    weight: str | None,
    origin: str | None,
    dry_run: bool,
    output: str,
) -> None:
    """Make a cluster a worker, or change which namespaces it serves.

    This creates a service account on the worker with permissions in the given namespaces, and an admission policy
    that lets it create only mirrors, of the kinds that the relay knows: built in, in its ConfigMaps, or in files that
    it was given and that have to be given here too. The management cluster gets a kubeconfig with a token of that
    account, which the relay renews. The command can be repeated.

    \b
    jobrelay worker join west --kubeconfig west-admin.kubeconfig --namespaces team-a,team-b
    jobrelay worker join west --kubeconfig admin --context west --namespaces team-a --dry-run
    """
    from jobrelay.kube import connect, find_connection
    from jobrelay.operate.joining import JoinRequest
    from jobrelay.operate.joining import join as join_worker
    from jobrelay.relay.relay import find_origin

    if worker_kubeconfig is None and worker_context is None:
        raise Failure(
            "no worker cluster was given", "add --kubeconfig FILE or --context NAME of the cluster that joins"
        )
    check_name(name)
    rules = Tuning(copy=copies).copies
    progress = JoinProgress(output)

    async def work() -> None:
        connection = find_connection(worker_kubeconfig, worker_context)
        async with management.connect() as home, connect(connection) as worker:
            adapters = await kinds.adapters(home, management)
            request = JoinRequest(
                name=name,
                namespaces=namespaces,
                relay_namespace=management.relay_namespace,
                origin=origin or await find_origin(home),
                cluster_wide=cluster_wide,
                policy=not without_policy,
                ttl=ttl,
                create_namespaces=create_namespaces,
                copies=rules,
                kinds=tuple(adapter.resource for adapter in adapters),
                commands=commands,
                server=server,
                dry_run=dry_run,
                **worker_metadata(labels, cost, weight),
            )
            await join_worker(home, worker, connection, request, progress)
            progress.end(worker=name, namespaces=namespaces, identity=request.identity.username, dryRun=dry_run)

    run(work())


def check_name(name: str) -> None:
    from jobrelay.apimachinery.names import is_dns1123_subdomain

    if problems := is_dns1123_subdomain(name):
        raise Failure(f"{name!r} is not a valid name for a worker", problems[0])


@click.command(short_help="Undo join: remove a worker and the relay's identity on it.")
@click.argument("name", metavar="NAME")
@WORKER_KUBECONFIG
@WORKER_CONTEXT
@separate_management_options
@_ORIGIN
@click.option("--force", is_flag=True, help="Remove it even while Jobs run there.")
@_DRY_RUN
@_OUTPUT
def leave(
    name: str,
    worker_kubeconfig: pathlib.Path | None,
    worker_context: str | None,
    management: Management,
    origin: str | None,
    force: bool,
    dry_run: bool,
    output: str,
) -> None:
    """Remove a worker, its Secret, and everything that join created on it.

    Drain it first. If one of the clusters cannot be reached, the command reports what remains there and can be
    repeated.

    \b
    jobrelay worker leave west --kubeconfig west-admin.kubeconfig
    """
    from jobrelay.kube import find_connection
    from jobrelay.operate.leaving import LeaveRequest
    from jobrelay.operate.leaving import leave as leave_worker

    check_name(name)
    progress = JoinProgress(output)
    given = worker_kubeconfig is not None or worker_context is not None
    with failures():
        home = find_connection(management.kubeconfig, management.context)
        connection = find_connection(worker_kubeconfig, worker_context) if given else None
    request = LeaveRequest(name, management.relay_namespace, origin or "", force=force, dry_run=dry_run)
    remains = run(leave_worker(home, connection, request, progress))
    progress.end(worker=name, left=remains, dryRun=dry_run)
    if remains:
        raise Failure(
            "; ".join(remains), "repeat this when the cluster can be reached; --kubeconfig names the worker's"
        )
