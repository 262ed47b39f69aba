"""One process of a fleet: a cluster or the relay.

Separate processes use all cores, and each can be killed by itself. A process has its own session, so Ctrl-C in the
terminal reaches only the fleet, which then stops its processes in order. It exits when its parent is gone
(`jobrelay.cli.child`).
"""

from __future__ import annotations

import asyncio
import os
import pathlib
import signal
from collections.abc import Sequence
from typing import Final

import jobrelay
from jobrelay.fleet.errors import FleetError
from jobrelay.fleet.folder import FleetFolder

__all__ = ["FleetProcess", "python_path"]

_START_TIMEOUT: Final = 60.0
_STOP_TIMEOUT: Final = 15.0


def python_path() -> str:
    """The PYTHONPATH with which a child imports this package, whatever its working directory contains."""
    here = pathlib.Path(jobrelay.__file__).resolve().parents[1]
    return os.pathsep.join(filter(None, [str(here), os.environ.get("PYTHONPATH", "")]))


class FleetProcess:
    """A running process. `ready_line` is the first line that it printed on stdout."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, folder: FleetFolder) -> None:
        self.name, self.process, self._folder = name, process, folder
        self.ready_line = ""
        self.stopping = False

    @classmethod
    async def start(cls, name: str, command: Sequence[str], folder: FleetFolder) -> FleetProcess:
        """Starts a process that logs into the folder."""
        log = folder.new_log(name)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                env=os.environ | {"PYTHONPATH": python_path()},
            )
        finally:
            os.close(log)
        folder.pid_file(name).write_text(f"{process.pid}\n")
        return cls(name, process, folder)

    async def wait_ready(self) -> None:
        """Returns when the process has printed its ready line; raises FleetError with the end of its log."""
        assert self.process.stdout is not None
        try:
            async with asyncio.timeout(_START_TIMEOUT):
                self.ready_line = (await self.process.stdout.readline()).decode().strip()
        except TimeoutError:
            problem = f"was not ready within {_START_TIMEOUT:g} s"
        else:
            if self.ready_line:
                return
            problem = self.describe_exit(await self.process.wait())
        raise FleetError(
            f"{self.name} {problem}; the end of {self._folder.log(self.name)}:\n{self._folder.tail(self.name)}"
        )

    @staticmethod
    def describe_exit(code: int) -> str:
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"

    async def stop(self) -> None:
        """Terminates the process, and kills it if it does not exit in time."""
        self.stopping = True
        if self.process.returncode is None:
            self.process.terminate()
            try:
                async with asyncio.timeout(_STOP_TIMEOUT):
                    await self.process.wait()
            except TimeoutError:
                self.process.kill()
                await self.process.wait()
        self.remove_pid_file()

    def remove_pid_file(self) -> None:
        """To be called once the process has exited."""
        self._folder.pid_file(self.name).unlink(missing_ok=True)
