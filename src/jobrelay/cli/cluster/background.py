"""Clusters in the background: one process for each, so that each can be stopped by itself.

A child runs the same command in the foreground, in its own session and without a terminal, and logs into the
cluster's folder. The parent reads the child's ready line from a pipe, prints it and exits. If one child fails, the
parent terminates the others and prints the end of the failed one's log.
"""

from __future__ import annotations

import pathlib
import select
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import click

from jobrelay.cli.detached import spawn_detached
from jobrelay.cli.errors import Failure
from jobrelay.cluster.files import ClusterFolder
from jobrelay.fleet.folder import log_tail

_START_TIMEOUT: Final = 60.0

Child = subprocess.Popen[str]


def start_detached(
    folder: pathlib.Path, ports: Mapping[str, int | None], *, memory: bool, extra: Sequence[str]
) -> None:
    """Starts a process for each cluster and returns when all are ready; raises Failure."""
    children: dict[str, Child] = {}
    try:
        for name, port in ports.items():
            options = [*(["--memory"] if memory else []), *(["--port", str(port)] if port is not None else []), *extra]
            children[name] = _spawn(ClusterFolder(folder, name), options)
        lines = [_ready_line(ClusterFolder(folder, name), child) for name, child in children.items()]
    except BaseException:
        _terminate(children.values())
        raise
    for line in lines:
        click.echo(line)


def _spawn(folder: ClusterFolder, options: Sequence[str]) -> Child:
    return spawn_detached(["cluster", "start", folder.name, "--dir", folder.path.parent, *options], folder.new_log())


def _ready_line(folder: ClusterFolder, child: Child) -> str:
    assert child.stdout is not None
    with child.stdout:
        answered, _, _ = select.select([child.stdout], [], [], _START_TIMEOUT)
        line = child.stdout.readline() if answered else ""
    if line:
        return line.rstrip("\n")
    problem = f"exited with code {child.wait()}" if answered else f"was not ready within {_START_TIMEOUT:g} s"
    raise Failure(f"cluster {folder.name!r} {problem}; the end of {folder.log}:\n{log_tail(folder.log)}")


def _terminate(children: Iterable[Child]) -> None:
    for child in children:
        child.terminate()
        child.wait()
