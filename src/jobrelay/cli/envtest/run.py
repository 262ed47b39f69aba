"""Runs a command beside a cluster, or with programs in place of kube-apiserver and etcd."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import shlex
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from jobrelay.cli.errors import Failure
from jobrelay.cluster import Cluster

PROGRAMS: Final = {"kube-apiserver": "jobrelay.cli.envtest.apiserver", "etcd": "jobrelay.cli.envtest.etcd"}


def run_with_cluster(command: Sequence[str], controllers: str) -> int:
    """Runs a command with a cluster that lasts as long; returns its exit code."""

    async def run() -> int:
        async with Cluster("envtest", memory=True, controllers=controllers) as cluster:
            return await _run(command, {"KUBECONFIG": str(cluster.kubeconfig), "USE_EXISTING_CLUSTER": "true"})

    return asyncio.run(run())


def run_with_assets(command: Sequence[str], folder: pathlib.Path) -> int:
    """Runs a command that starts clusters itself; returns its exit code."""
    return asyncio.run(_run(command, {"KUBEBUILDER_ASSETS": str(folder)}))


def fill_assets(folder: pathlib.Path) -> None:
    """Writes the programs; raises Failure where something else is."""
    for name, module in PROGRAMS.items():
        path = folder / name
        script = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m {module} "$@"\n'
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if path.exists() and f" -m {module} ".encode() not in path.read_bytes()[:4096]:
                raise Failure(f"{path} exists and is not jobrelay's", "choose another folder")
            path.write_text(script)
            path.chmod(0o755)
        except OSError as error:
            raise Failure(f"{path} cannot be written: {error.strerror}", "choose another folder") from None


async def _run(command: Sequence[str], more: Mapping[str, str]) -> int:
    """A command's exit code. Signals go to the command; this process ends after it."""
    terminal = sys.stdin is not None and sys.stdin.isatty()  # sends Ctrl-C to the command by itself
    signals: asyncio.Queue[signal.Signals] = asyncio.Queue()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, signals.put_nowait, number)
    try:
        process = await asyncio.create_subprocess_exec(
            *command, env={**os.environ, **more}, process_group=None if terminal else 0
        )
    except OSError as error:
        raise Failure(f"{command[0]} cannot be run: {error.strerror}", "check the command after --") from None
    passing_on = asyncio.create_task(_pass_on(signals, process, terminal=terminal))
    code = await process.wait()
    passing_on.cancel()
    return code if code >= 0 else 128 - code


async def _pass_on(
    signals: asyncio.Queue[signal.Signals], process: asyncio.subprocess.Process, *, terminal: bool
) -> None:
    """Sends what arrives to the command, until cancelled."""
    while True:
        number = await signals.get()
        with contextlib.suppress(ProcessLookupError):
            if not terminal:
                os.killpg(process.pid, number)
            elif number != signal.SIGINT:
                process.send_signal(number)
