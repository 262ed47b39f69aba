"""`jobrelay envtest`: suites of controller-runtime's envtest on embedded clusters."""

from __future__ import annotations

import pathlib

import click

from jobrelay.cli.errors import Failure

__all__ = ["envtest"]


@click.command(
    short_help="Run a test suite of controller-runtime on an embedded cluster.",
    context_settings={"ignore_unknown_options": True},
)
@click.option(
    "--assets", metavar="DIR", type=click.Path(path_type=pathlib.Path),
    help="Put kube-apiserver and etcd into DIR, for suites that start their own; no cluster is started for them.",
)  # fmt: skip
@click.option(
    "--controllers", metavar="all|none|NAME,...", default="namespace-controller", show_default=True,
    help="The controllers to run, by kube-controller-manager's names.",
)  # fmt: skip
@click.argument("command", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
def envtest(assets: pathlib.Path | None, controllers: str, command: tuple[str, ...]) -> None:
    """Run COMMAND with an embedded cluster in place of the programs that envtest starts.

    The cluster is in memory and ends with the command, whose exit code is passed on. The suite finds it by
    USE_EXISTING_CLUSTER and KUBECONFIG; all packages of a `go test ./...` share it.

    With --assets each suite starts a cluster of its own, as it would from the real programs: DIR gets a
    kube-apiserver and an etcd, and COMMAND runs with KUBEBUILDER_ASSETS set to it. Without COMMAND the folder is
    only filled.

    \b
    jobrelay envtest -- go test ./...
    jobrelay envtest --assets bin -- go test ./...
    """
    from jobrelay.cli.envtest.run import fill_assets, run_with_assets, run_with_cluster

    if not command and assets is None:
        raise Failure("no command is given", "write it after --: jobrelay envtest -- go test ./...")
    if assets is not None:
        folder = assets.absolute()
        fill_assets(folder)
        if not command:
            click.echo(f"export KUBEBUILDER_ASSETS={folder}")
            return
        raise SystemExit(run_with_assets(command, folder))
    from jobrelay.cli.cluster.common import cluster_errors

    with cluster_errors():
        raise SystemExit(run_with_cluster(command, controllers))
