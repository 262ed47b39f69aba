"""`jobrelay install`: prints or applies the manifests that the relay needs on the management cluster."""

from __future__ import annotations

import json
import pathlib

import click

from jobrelay.cli.join import JoinProgress
from jobrelay.cli.kinds import Kinds, kind_options
from jobrelay.cli.management import CONTEXT, KUBECONFIG_OR_FLEET, SYSTEM_NAMESPACE, Management, run
from jobrelay.cli.output import output_option
from jobrelay.cli.relay.tuning import Tuning


@click.command(short_help="Print or apply the manifests that the relay needs.")
@KUBECONFIG_OR_FLEET
@CONTEXT
@click.option("--apply", "applied", is_flag=True, help="Apply the manifests instead of printing them.")
@click.option("--dry-run", is_flag=True, help="With --apply: only show what would be done.")
@click.option("--namespace", metavar="NS", default=SYSTEM_NAMESPACE, show_default=True, help="The relay's namespace.")
@click.option("--image", metavar="IMAGE", help="The relay's image.  [default: jobrelay:VERSION]")
@click.option("--replicas", type=click.IntRange(min=1), default=2, show_default=True, help="The number of relays.")
@click.option(
    "--relay-option", "options", metavar="OPTION", multiple=True,
    help="An option of `jobrelay relay run`, as in --relay-option=--fencing; may be repeated.",
)  # fmt: skip
@click.option(
    "--copy", "copies", metavar="KIND[:NAMESPACE,...]", multiple=True,
    help="As of `jobrelay relay run`, with the permission to read these objects; may be repeated.",
)  # fmt: skip
@click.option(
    "--queueing", is_flag=True, help="Define Kueue's kinds of queues too, so that the relay admits by their quotas."
)
@kind_options
@output_option("yaml", "json")
def install(
    kubeconfig: pathlib.Path | None,
    context: str | None,
    applied: bool,
    dry_run: bool,
    namespace: str,
    image: str | None,
    replicas: int,
    options: tuple[str, ...],
    copies: tuple[str, ...],
    queueing: bool,
    kinds: Kinds,
    output: str,
) -> None:
    """Print the manifests that the relay needs on the management cluster, or apply them.

    They are the CRDs of workers, a namespace, a service account with minimal permissions, a Deployment of the relay, a
    PodDisruptionBudget, a Service for metrics, the registration of the API for users, and roles for users and
    operators. CRDs that the cluster already has, such as Kueue's, are not changed. With --queueing there are the CRDs
    of queues too. With --kind-file there is a ConfigMap with the descriptions, where the relay reads them, and a role
    for their kinds.

    \b
    jobrelay install --image registry.example/jobrelay:1 | kubectl apply --server-side -f -
    jobrelay install --image registry.example/jobrelay:1 --apply
    """
    from jobrelay.operate.applying import apply
    from jobrelay.operate.management import IMAGE, Installation, management_manifests
    from jobrelay.operate.manifests import as_yaml

    rules = Tuning(copy=copies).copies
    chosen = Installation(namespace, image or IMAGE, replicas, options, rules, kinds.texts(), queueing)
    made = management_manifests(chosen)
    if not applied:
        listed = {"apiVersion": "v1", "kind": "List", "items": made}
        click.echo(json.dumps(listed, indent=2) if output == "json" else as_yaml(made), nl=output == "json")
        return
    progress = JoinProgress("json" if output == "json" else "text")

    async def work() -> None:
        async with Management(kubeconfig, context).connect() as client:
            await apply(client, made, "management", progress, dry_run=dry_run)
        progress.end(namespace=namespace, dryRun=dry_run)

    run(work())
