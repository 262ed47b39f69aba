"""One part of a fleet: a process of its own, so that parts use all cores, and each can be killed by itself.

It has a session of its own, so Ctrl-C in the terminal reaches only the fleet, which ends its parts in order. It ends when
its parent is gone (`jobrelay.cli.child`).
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from typing import Final

from jobrelay.fleet.errors import FleetError
from jobrelay.fleet.folder import FleetFolder
from jobrelay.fleet.processes import python_path

__all__ = ["Part"]

_READY: Final = 60.0
_END: Final = 15.0


class Part:
    """A running process. `ready` is the first line that it said on stdout."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, folder: FleetFolder) -> None:
        self.name, self.process, self._folder = name, process, folder
        self.ready = ""
        self.ending = False

    @classmethod
    async def start(cls, name: str, command: Sequence[str], folder: FleetFolder) -> Part:
        """Starts a process, with its log in the folder."""
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
        """Returns when it has said that it is ready; raises FleetError with the end of its log."""
        assert self.process.stdout is not None
        try:
            async with asyncio.timeout(_READY):
                self.ready = (await self.process.stdout.readline()).decode().strip()
        except TimeoutError:
            why = f"was not ready within {_READY:g} s"
        else:
            if self.ready:
                return
            why = self.told(await self.process.wait())
        raise FleetError(
            f"{self.name} {why}; the end of {self._folder.log(self.name)}:\n{self._folder.tail(self.name)}"
        )

    @staticmethod
    def told(code: int) -> str:
        """How a process ended, in words."""
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"

    async def end(self) -> None:
        """Asks it to end, and makes it if it does not."""
        self.ending = True
        if self.process.returncode is None:
            self.process.terminate()
            try:
                async with asyncio.timeout(_END):
                    await self.process.wait()
            except TimeoutError:
                self.process.kill()
                await self.process.wait()
        self.forget()

    def forget(self) -> None:
        """It has ended: its process id means nothing any more."""
        self._folder.pid_file(self.name).unlink(missing_ok=True)
