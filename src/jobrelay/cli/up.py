"""`jobrelay up` and `jobrelay down`: start and stop a fleet on this machine."""

from __future__ import annotations

import pathlib
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from jobrelay.cli.cluster.common import (
    GPU,
    check_controllers,
    check_runtime,
    check_sizes,
    folder_option,
    print_runtime_note,
    read_label,
)
from jobrelay.cli.cluster.definitions import complete_definitions, load_definitions
from jobrelay.cli.errors import Failure
from jobrelay.cli.management import failures
from jobrelay.cli.relay.tuning import Tuning, tuning_options

if TYPE_CHECKING:
    from jobrelay.fleet.fleet import ClusterPlan, Fleet
    from jobrelay.fleet.folder import FleetFolder
    from jobrelay.fleet.process import FleetProcess
    from jobrelay.operate.crds import Definition

_COUNTS = {"--nodes": 1, "--gpu": 0}
"""Options that are whole numbers, and the least that each may be."""
FLEET_DIR = folder_option("fleet's", "fleet")


def _sources(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Sources of definitions, with absolute paths, since a fleet in the background may run in another folder."""
    from jobrelay.operate.crds import KNOWN

    found = [source for text in value for source in map(str.strip, text.split(",")) if source]
    return tuple(source if source in KNOWN else str(pathlib.Path(source).absolute()) for source in found)


@click.command(short_help="Run a local fleet: a management cluster, workers and the relay.")
@click.option("--workers", type=click.IntRange(1, 50), default=2, show_default=True, help="The number of workers.")
@FLEET_DIR
@click.option(
    "--runtime", type=click.Choice(["process", "scripted"]), default="process", show_default=True,
    help="How pods run: as processes of this machine (images are not pulled), or simulated by their annotations.",
)  # fmt: skip
@click.option("--memory", is_flag=True, help="Keep objects in memory only; they are lost at the end.")
@click.option(
    "--port", "base", metavar="BASE", type=click.IntRange(1, 65535),
    help="The management cluster's port; the workers get the next ones.  [default: as at the last start, or free ones]",
)  # fmt: skip
@click.option(
    "--nodes", metavar="N[,N...]", default="1", show_default=True,
    help="Nodes of each worker, or one number per worker.",
)  # fmt: skip
@click.option(
    "--cpu", metavar="Q[,Q...]", default="", help="CPUs of each node, or one per worker.  [default: the machine's]"
)
@click.option(
    "--memory-size", metavar="Q[,Q...]", default="",
    help="Memory of each node, or one per worker.  [default: the machine's]",
)  # fmt: skip
@click.option("--gpu", metavar="N[,N...]", default="", help=f"GPUs ({GPU}) of each node, or one number per worker.")
@click.option(
    "--label", "labels", metavar="KEY=V[,V...]", multiple=True,
    help="A label of each worker's nodes, or one value per worker; may be repeated.",
)  # fmt: skip
@click.option(
    "--crds", "sources", metavar="NAME|FILE|DIR[,...]", multiple=True, callback=_sources,
    shell_complete=complete_definitions,
    help="Custom kinds to define on all clusters, as in `jobrelay cluster crds add`; may be repeated.",
)  # fmt: skip
@click.option(
    "--controllers", metavar="all|none|NAME,...", default="all", show_default=True,
    help="The controllers of each cluster; all,jobset runs JobSets too.",
)  # fmt: skip
@tuning_options
@click.option("-d", "--detach", is_flag=True, help="Run in the background; return when everything is ready.")
def up(
    workers: int,
    folder: pathlib.Path,
    runtime: str,
    memory: bool,
    base: int | None,
    nodes: str,
    cpu: str,
    memory_size: str,
    gpu: str,
    labels: tuple[str, ...],
    sources: tuple[str, ...],
    controllers: str,
    tuning: Tuning,
    detach: bool,
) -> None:
    """Run a management cluster, workers and the relay on this machine until Ctrl-C.

    Each is a separate process with its ID in DIR/worker-1.pid, ..., so that you can kill one and see what happens. The
    kubeconfigs are DIR/management.kubeconfig, DIR/worker-1.kubeconfig, ... Data is kept for the next start.
    Commands in the current folder, and below it, use this fleet while it runs, unless KUBECONFIG is set.

    \b
    jobrelay up --workers 3
    jobrelay up --workers 3 --cpu 8,4,2 --worker-lost-timeout 10s
    jobrelay up --workers 2 --gpu 8,0 --label zone=a,b
    jobrelay up --runtime scripted --memory -d
    jobrelay up --crds jobset --controllers all,jobset
    """
    tuning.check()
    check_runtime(runtime)
    check_controllers(controllers)
    if base is not None and base + workers > 65535:
        raise Failure(f"--port {base} leaves no room for {workers + 1} ports up to 65535", "choose a smaller --port")
    sizes = [("--nodes", nodes), ("--cpu", cpu), ("--memory-size", memory_size), ("--gpu", gpu)]
    sizes += [("--label", label) for label in labels]
    common = ["--runtime", runtime, "--controllers", controllers, *(["--memory"] if memory else [])]
    clusters = _clusters(workers, base, common, sizes)
    definitions = load_definitions(sources)
    if detach:
        given = [f"{option}={text}" for option, text in sizes if text]
        given += [f"--crds={source}" for source in sources]
        ports = [f"--port={base}"] if base is not None else []
        _detach(folder, workers, [f"--workers={workers}", *common, *ports, *given, *tuning.arguments()])
        print_runtime_note(runtime)
    else:
        _serve(folder, clusters, definitions, tuning, runtime)


def _clusters(workers: int, base: int | None, common: list[str], sizes: list[tuple[str, str]]) -> list[ClusterPlan]:
    """The management cluster, whose node is as large as the machine, then the workers."""
    from jobrelay.fleet.fleet import MANAGEMENT, ClusterPlan

    names = [MANAGEMENT, *(f"worker-{number}" for number in range(1, workers + 1))]
    found = []
    for index, name in enumerate(names):
        port = [f"--port={base + index}"] if base is not None else []
        own = [f"{option}={_nth(option, text, index - 1)}" for option, text in sizes if text and index]
        found.append(ClusterPlan(name, (*common, *port, *own)))
    return found


def _nth(option: str, text: str, index: int) -> str:
    """The value for one worker; if there are fewer values than workers, the last one is used for the rest."""
    key, equals, listed = text.partition("=") if option == "--label" else ("", "", text)
    values = [value.strip() for value in listed.split(",")]
    value = key + equals + values[min(index, len(values) - 1)]
    if option == "--label":
        read_label(value)
    elif option in _COUNTS:
        if not value.isdecimal() or int(value) < _COUNTS[option]:
            raise Failure(f"{option} {text}: not a number of {option[2:]}", "write 2 or 3,2,1, for example")
    else:
        check_sizes({option: value})
    return value


def _serve(
    folder: pathlib.Path,
    clusters: list[ClusterPlan],
    definitions: tuple[Definition, ...],
    tuning: Tuning,
    runtime: str,
) -> None:
    from jobrelay.cli.logging_setup import configure_logging
    from jobrelay.cli.loop import run_until_stopped
    from jobrelay.fleet.fleet import Fleet, FleetPlan

    configure_logging("warning", "text")
    command = (sys.executable, "-P", "-m", "jobrelay.cli.child")
    plan = FleetPlan(
        folder, command, clusters[0], tuple(clusters[1:]), tuple(tuning.arguments()), definitions=definitions,
        notify=_note, on_ready=_print_ready,
    )  # fmt: skip
    _announce(len(clusters) - 1)
    with failures():
        run_until_stopped(_run(Fleet(plan), runtime))


def _announce(workers: int) -> None:
    """Says that it takes a moment; each part is printed when it is ready."""
    if sys.stderr.isatty():
        click.echo(f"starting a management cluster, {workers} worker{'s' * (workers != 1)} and the relay ...", err=True)


def _print_ready(process: FleetProcess) -> None:
    import json

    line = process.ready_line
    click.echo(f"relay ready {json.loads(line)['endpoint']}" if process.name == "relay" else line)
    sys.stdout.flush()


def _note(text: str) -> None:
    click.echo(f"note: {text}", err=True)


async def _run(fleet: Fleet, runtime: str) -> None:
    from jobrelay.cli.fleet_here import fleet_notes

    began = time.monotonic()
    async with fleet:
        fleet_notes().write(pathlib.Path.cwd(), fleet.folder.path)
        click.echo(f"fleet ready {fleet.folder.path}")
        sys.stdout.flush()
        click.echo(_NEXT.format(seconds=time.monotonic() - began, folder=fleet.folder.path), err=True)
        print_runtime_note(runtime)
        await fleet.watch()


_NEXT = """
Everything was ready after {seconds:.1f} s; Ctrl-C stops it. In another terminal, in this folder:

  jobrelay submit {folder}/hello.yaml
  jobrelay get

kubectl, and jobrelay in other folders, need KUBECONFIG={folder}/management.kubeconfig
"""


def _detach(folder: pathlib.Path, workers: int, arguments: list[str]) -> None:
    """Runs the same command in the background, in its own session, and returns when it is ready."""
    from jobrelay.cli.detached import spawn_detached
    from jobrelay.fleet.folder import FleetFolder

    where = FleetFolder(folder)
    if (pid := where.holder()) is not None:
        raise Failure(f"a fleet is already running in {folder} (pid {pid})", "`jobrelay down` stops it")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _announce(workers)
    child = spawn_detached(["up", "--dir", folder, *arguments], where.new_log("fleet"))
    assert child.stdout is not None
    for line in child.stdout:
        click.echo(line, nl=False)
        if line.startswith("fleet ready"):
            return
    code = child.wait()
    raise Failure(f"the fleet exited with code {code}; the end of {where.log('fleet')}:\n{where.tail('fleet')}")


@click.command(short_help="Stop a fleet that runs in the background.")
@FLEET_DIR
@click.option("--timeout", type=click.FloatRange(min=0), default=30.0, show_default=True, help="Seconds to wait.")
def down(folder: pathlib.Path, timeout: float) -> None:
    """Stop a fleet, in the background or in another terminal; its data is kept for the next start.

    Clusters of the fleet and its relay that were started again by hand are stopped too.
    """
    from jobrelay.cli.cluster.existing import stop_clusters
    from jobrelay.cluster.files import find_folders
    from jobrelay.fleet.folder import FleetFolder

    where, end = FleetFolder(folder), time.monotonic() + timeout
    stopped = _stop("fleet", where.holder, end, timeout, where)
    stopped |= _stop("relay", where.relay_lock.holder, end, timeout, where)
    parts = [each for each in find_folders(folder) if each.holder() is not None]
    stop_clusters(parts, timeout)
    if not stopped and not parts:
        click.echo(f"no fleet is running in {folder}", err=True)


def _stop(what: str, holder: Callable[[], int | None], end: float, timeout: float, where: FleetFolder) -> bool:
    """Stops the process that holds a lock, and waits until it has let go; False if there is none. Raises Failure."""
    from jobrelay.cli.cluster.existing import terminate

    pid = holder()
    if pid is None:
        return False
    terminate(pid)
    while holder() is not None:
        if time.monotonic() >= end:
            raise Failure(f"the {what} (pid {pid}) did not stop within {timeout:g} s", f"see {where.log(what)}")
        time.sleep(0.02)
    click.echo(f"{what} stopped", err=True)
    return True
