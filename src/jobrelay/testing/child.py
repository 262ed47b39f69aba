"""A `jobrelay` command that runs beside the tests until their session ends.

It is a process of its own, so that tests may freeze their clock, replace the modules of the network, stop in a debugger
or block their event loop without the cluster noticing. Its standard input is a pipe that nobody writes to: when pytest
is killed, the pipe is closed and the child exits too (`jobrelay.cli.child`).
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import threading
from typing import Final

from jobrelay.fleet.errors import FleetError
from jobrelay.fleet.folder import log_tail
from jobrelay.fleet.process import python_path

__all__ = ["ChildCommand"]

_START_TIMEOUT: Final = 180.0
_STOP_TIMEOUT: Final = 60.0


class ChildCommand:
    """A running command. The constructor returns when it has printed a line that starts with `ready`."""

    def __init__(self, arguments: list[str], ready: str, log: pathlib.Path) -> None:
        self._name, self._log = f"jobrelay {' '.join(arguments)}", log
        with log.open("wb") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "jobrelay.cli.child", *arguments],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, start_new_session=True,
                env=os.environ | {"PYTHONPATH": python_path()},
            )  # fmt: skip
        try:
            self.lines = self._read_until(ready)
        except BaseException:
            self.stop()
            raise

    def check(self) -> None:
        """Raises FleetError with the end of the log if the command has exited."""
        if (code := self._process.poll()) is not None:
            raise FleetError(f"`{self._name}` exited with code {code}; the end of its log:\n{log_tail(self._log)}")

    def stop(self) -> None:
        """Ends the command, and kills it if it does not exit in time."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _read_until(self, ready: str) -> list[str]:
        """The lines up to the one that says that it is ready; killing the command ends the wait."""
        assert self._process.stdout is not None
        late = threading.Timer(_START_TIMEOUT, self._process.kill)
        late.start()
        try:
            lines = []
            for line in self._process.stdout:
                lines.append(line.decode().strip())
                if lines[-1].startswith(ready):
                    return lines
        finally:
            late.cancel()
        self._process.wait()
        self.check()
        raise AssertionError("unreachable: the process has ended")
