"""`jobrelay cluster start`: checks the options, then runs the clusters here or in the background."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, cast

import click

from jobrelay.cli.cluster.common import (
    DIR,
    GPU,
    check_controllers,
    check_names,
    check_runtime,
    check_sizes,
    cluster_errors,
    complete_names,
    print_runtime_note,
    read_label,
)
from jobrelay.cli.errors import Failure

if TYPE_CHECKING:
    from jobrelay.cluster.node import RuntimeName


def _labels(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    return dict(map(read_label, value))


@click.command(short_help="Start clusters and keep them running.")
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_names)
@DIR
@click.option("--memory", is_flag=True, help="Keep objects in memory only; they are lost at the end.")
@click.option(
    "--port", "base", metavar="BASE", type=click.IntRange(1, 65535),
    help="Ports BASE, BASE+1, ... in the order of names.  [default: as at the last start, or free ones]",
)  # fmt: skip
@click.option(
    "--controllers", metavar="all|none|NAME,...", default="all", show_default=True,
    help="The controllers to run, by kube-controller-manager's names; all,jobset adds that of JobSets.",
)  # fmt: skip
@click.option(
    "--runtime", type=click.Choice(["process", "scripted", "none"]), default="process", show_default=True,
    help="How pods run: as processes of this machine (images are not pulled), simulated by annotations, or not at all.",
)  # fmt: skip
@click.option("--nodes", type=click.IntRange(1), default=1, show_default=True, help="The number of nodes.")
@click.option("--cpu", metavar="QUANTITY", help="CPUs of each node.  [default: the machine's]")
@click.option("--memory-size", metavar="QUANTITY", help="Memory of each node.  [default: the machine's]")
@click.option("--gpu", type=click.IntRange(0), default=0, help=f"GPUs ({GPU}) of each node.  [default: none]")
@click.option(
    "--label", "labels", metavar="KEY=VALUE", multiple=True, callback=_labels,
    help="A label of each node; may be repeated.",
)  # fmt: skip
@click.option("-d", "--detach", is_flag=True, help="Run in the background; return when all clusters are ready.")
@click.option("-v", "--verbose", is_flag=True, help="Log debug messages too.")
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def start(
    names: tuple[str, ...],
    folder: pathlib.Path,
    memory: bool,
    base: int | None,
    controllers: str,
    runtime: str,
    nodes: int,
    cpu: str | None,
    memory_size: str | None,
    gpu: int,
    labels: dict[str, str],
    detach: bool,
    verbose: bool,
    log_format: str,
) -> None:
    """Start clusters and keep them running until Ctrl-C.

    Prints one line for each cluster when it is ready: its name, its address and its kubeconfig. Objects, keys and
    ports are kept in the folder for the next start.

    Pods run as processes of this machine, as your user: no image is pulled, and they are not isolated. Anyone who may
    create pods in the cluster can run commands as you. With --runtime scripted or none, pods run nothing.

    \b
    jobrelay cluster start dev
    kubectl --kubeconfig ~/.local/state/jobrelay/dev.kubeconfig get namespaces
    """
    check_names(names)
    if base is not None and base + len(names) - 1 > 65535:
        raise Failure(f"--port {base} leaves no room for {len(names)} ports up to 65535", "choose a smaller --port")
    check_controllers(controllers)
    sizes = {"--cpu": cpu, "--memory-size": memory_size}
    check_sizes(sizes)
    check_runtime(runtime)
    ports = {name: base + index if base is not None else None for index, name in enumerate(names)}
    with cluster_errors():
        if detach:
            from jobrelay.cli.cluster.background import start_detached

            given = [text for option, size in sizes.items() if size for text in (option, size)]
            given += [f"--label={key}={value}" for key, value in labels.items()]
            extra = ["--controllers", controllers, "--runtime", runtime, "--nodes", str(nodes), f"--gpu={gpu}", *given]
            extra += _passed_on(verbose, log_format)
            start_detached(folder, ports, memory=memory, extra=extra)
            print_runtime_note(runtime)
        else:
            from jobrelay.cli.cluster.serve import serve_clusters
            from jobrelay.cli.logging_setup import configure_logging
            from jobrelay.cluster.node import NodeSettings

            configure_logging("debug" if verbose else "info", log_format)
            extended = {GPU: str(gpu)} if gpu else {}
            pool = NodeSettings(cast("RuntimeName", runtime), nodes, cpu, memory_size, extended=extended, labels=labels)
            serve_clusters(folder, ports, memory=memory, controllers=controllers, nodes=pool)


def _passed_on(verbose: bool, log_format: str) -> list[str]:
    return [*(["--verbose"] if verbose else []), "--log-format", log_format]
