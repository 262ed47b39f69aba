"""Runs a command beside a cluster, or with programs in place of kube-apiserver and etcd."""

from __future__ import annotations

import asyncio
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
    try:
        process = await asyncio.create_subprocess_exec(
            *command, env={**os.environ, **more}, process_group=None if terminal else 0
        )
    except OSError as error:
        raise Failure(f"{command[0]} cannot be run: {error.strerror}", "check the command after --") from None
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        passed_on = not terminal or number != signal.SIGINT
        loop.add_signal_handler(number, _pass_on, process, number, passed_on, terminal)
    code = await process.wait()
    return code if code >= 0 else 128 - code


def _pass_on(process: asyncio.subprocess.Process, number: signal.Signals, passed_on: bool, terminal: bool) -> None:
    if not passed_on or process.returncode is not None:
        return
    if terminal:
        process.send_signal(number)
    else:
        os.killpg(process.pid, number)
