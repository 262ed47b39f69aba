"""`jobrelay worker join` and `leave`: real clusters become workers, and cease to be."""

from __future__ import annotations

import json
import pathlib
from typing import TYPE_CHECKING, Any

import click

from jobrelay.cli.clusters import WORKER_CONTEXT, WORKER_KUBECONFIG, other_management_options
from jobrelay.cli.durations import seconds
from jobrelay.cli.errors import Failure
from jobrelay.cli.management import Management, failure, run

if TYPE_CHECKING:
    from jobrelay.operate.applying import Step


def _origin_name(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    from jobrelay.apimachinery.names import is_dns1123_label

    if value is not None and is_dns1123_label(value):
        raise click.BadParameter(f"{value!r} cannot name an identity: lower case letters, digits and '-'.")
    return value


_DRY_RUN = click.option("--dry-run", is_flag=True, help="Only say what would be done.")
_ORIGIN = click.option(
    "--origin",
    metavar="NAME",
    callback=_origin_name,
    help="The relay's --origin, if it has one of its own.  [default: by management cluster]",
)
_OUTPUT = click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to tell."
)
SHORTEST = 600.0


class Progress:
    """Tells each step as it is done, on stderr; or all of them at the end, as JSON."""

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
            raise click.BadParameter(f"{name!r} cannot be a namespace.")
    if not names:
        raise click.BadParameter("name at least one namespace.")
    return names


def _ttl(ctx: click.Context, param: click.Parameter, value: str) -> float:
    found = seconds(ctx, param, value)
    if found < SHORTEST:
        raise click.BadParameter("API servers issue no tokens for less than 10m.")
    return found


@click.command(short_help="Make a cluster a worker, with an identity of its own for the relay.")
@click.argument("name", metavar="NAME")
@WORKER_KUBECONFIG
@WORKER_CONTEXT
@click.option(
    "--namespaces", metavar="A,B", required=True, callback=_names, help="Where the relay may run Jobs on the worker."
)
@other_management_options
@click.option("--create-namespaces", is_flag=True, help="Create those of the namespaces that the worker does not have.")
@click.option(
    "--cluster-wide", is_flag=True, help="Let the relay read nodes, pods and namespaces, to know what room there is."
)
@click.option("--ttl", metavar="DURATION", default="24h", show_default=True, callback=_ttl, help="The life of a token.")
@click.option(
    "--without-policy", is_flag=True, help="Leave out the admission policy, for workers before Kubernetes 1.30."
)
@click.option(
    "--server", metavar="URL", default="", help="How the relay reaches the worker.  [default: as the kubeconfig]"
)
@click.option("--label", "labels", metavar="KEY=VALUE", multiple=True, help="A label on the worker; may be repeated.")
@click.option("--cost", metavar="NUMBER", help="What running there costs, for placement by cost.")
@click.option("--weight", metavar="NUMBER", help="How large its share is, for placement by weight.")
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
    ttl: float,
    without_policy: bool,
    server: str,
    labels: tuple[str, ...],
    cost: str | None,
    weight: str | None,
    origin: str | None,
    dry_run: bool,
    output: str,
) -> None:
    """Make a cluster a worker, or change what it serves.

    On the worker this makes a service account with rights in the given namespaces, and a policy that lets it create nothing but
    mirrors. The management cluster gets a kubeconfig with a token of that account, which the relay renews. May be called again.

    \b
    jobrelay worker join west --kubeconfig west-admin.kubeconfig --namespaces team-a,team-b
    jobrelay worker join west --kubeconfig admin --context west --namespaces team-a --dry-run
    """
    from jobrelay.cli.worker import pair
    from jobrelay.kube import connect, find_connection
    from jobrelay.operate.joining import Joining
    from jobrelay.operate.joining import join as join_worker
    from jobrelay.relay.names import COST, WEIGHT

    if worker_kubeconfig is None and worker_context is None:
        raise Failure("it was not said which cluster is to join", "name it: --kubeconfig FILE or --context NAME")
    check_name(name)
    progress = Progress(output)

    async def work() -> None:
        way = find_connection(worker_kubeconfig, worker_context)
        async with management.connect() as home, connect(way) as worker:
            asked = Joining(
                name=name,
                namespaces=namespaces,
                relay_namespace=management.relay_namespace,
                origin=origin or await _origin(home),
                cluster_wide=cluster_wide,
                policy=not without_policy,
                ttl=ttl,
                create_namespaces=create_namespaces,
                server=server,
                labels=dict(map(pair, labels)),
                annotations={key: value for key, value in ((COST, cost), (WEIGHT, weight)) if value is not None},
                dry_run=dry_run,
            )
            await join_worker(home, worker, way, asked, progress)
            progress.end(worker=name, namespaces=namespaces, identity=asked.identity.username, dryRun=dry_run)

    run(work())


def check_name(name: str) -> None:
    from jobrelay.apimachinery.names import is_dns1123_subdomain

    if problems := is_dns1123_subdomain(name):
        raise Failure(f"{name!r} cannot be the name of a worker: {problems[0]}")


async def _origin(management: Any) -> str:
    from jobrelay.relay.relay import find_origin

    return await find_origin(management)


@click.command(short_help="Undo join: remove a worker and the relay's identity there.")
@click.argument("name", metavar="NAME")
@WORKER_KUBECONFIG
@WORKER_CONTEXT
@other_management_options
@_ORIGIN
@click.option("--force", is_flag=True, help="Also while Jobs run there.")
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
    """Remove a worker, its Secret, and everything that join made on it.

    Drain it first. A cluster that does not answer keeps what it has; that is said, and the command may be called again.

    \b
    jobrelay worker leave west --kubeconfig west-admin.kubeconfig
    """
    from jobrelay.kube import KubeError, find_connection
    from jobrelay.operate.leaving import Leaving
    from jobrelay.operate.leaving import leave as leave_worker

    check_name(name)
    progress = Progress(output)
    named = worker_kubeconfig is not None or worker_context is not None
    try:
        home = find_connection(management.kubeconfig, management.context)
        way = find_connection(worker_kubeconfig, worker_context) if named else None
    except KubeError as error:
        raise failure(error) from error
    asked = Leaving(name, management.relay_namespace, origin or "", force=force, dry_run=dry_run)
    left = run(leave_worker(home, way, asked, progress))
    progress.end(worker=name, left=left, dryRun=dry_run)
    if left:
        raise Failure("; ".join(left), "call this again when it can be reached, with --kubeconfig for the worker")
