"""Clusters in the background: one process for each, so that each can be stopped by itself.

A child is the same command in the foreground, in a session of its own and without a terminal, with its log in the cluster's
folder. Its ready line comes back through a pipe; the parent prints it and leaves. If one child fails, the others that were
started with it are ended too, and the end of its log is shown.
"""

from __future__ import annotations

import os
import pathlib
import select
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import click

from jobrelay.cli.errors import Failure
from jobrelay.cluster.files import ClusterFolder
from jobrelay.fleet.processes import python_path

_PATIENCE: Final = 60.0  # seconds for a cluster to get ready
_TAIL: Final = 15  # lines

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
        _end(children.values())
        raise
    for line in lines:
        click.echo(line)


def _spawn(folder: ClusterFolder, options: Sequence[str]) -> Child:
    log = folder.new_log()
    try:
        return subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-m",
                "jobrelay",
                "cluster",
                "start",
                folder.name,
                "--dir",
                folder.path.parent,
                *options,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            text=True,
            env=os.environ | {"PYTHONPATH": python_path()},
        )
    finally:
        os.close(log)


def _ready_line(folder: ClusterFolder, child: Child) -> str:
    assert child.stdout is not None
    with child.stdout:
        answered, _, _ = select.select([child.stdout], [], [], _PATIENCE)
        line = child.stdout.readline() if answered else ""
    if line:
        return line.rstrip("\n")
    why = f"ended with code {child.wait()}" if answered else f"was not ready within {_PATIENCE:g} s"
    raise Failure(f"cluster {folder.name!r} {why}; the end of {folder.log}:\n{_tail(folder.log)}")


def _tail(log: pathlib.Path) -> str:
    lines = log.read_text(errors="replace").splitlines()[-_TAIL:]
    return "\n".join(f"  {line}" for line in lines)


def _end(children: Iterable[Child]) -> None:
    for child in children:
        child.terminate()
        child.wait()
