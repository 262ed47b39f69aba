"""`jobrelay exec` in a terminal: its size, Ctrl-C, and that it is as before at the end."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pathlib
import pty
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Callable

import pytest

from tests.cli.command import COMMAND, ENVIRONMENT
from tests.cli.exec_fleets import exec_fleet, sleeping
from tests.cli.terminal import TAKE_TERMINAL, in_terminal

SHELL = "trap 'exit 9' INT; echo begun; while read line; do stty size; echo ok; done"
LIMIT = 120.0


class Screen:
    """A command in a terminal, whose other side a test holds."""

    def __init__(self, command: list[str], size: tuple[int, int]) -> None:
        self._ours, self._theirs = pty.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(self._theirs)
        self.process = subprocess.Popen(
            [sys.executable, "-c", TAKE_TERMINAL, *command],
            stdin=self._theirs, stdout=self._theirs, stderr=self._theirs, env=ENVIRONMENT, start_new_session=True,
        )  # fmt: skip
        self.shown = ""

    def resize(self, lines: int, columns: int) -> None:
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def until(self, done: Callable[[str], bool]) -> None:
        """Read until what was shown satisfies a condition."""
        while not done(self.shown):
            ready, _, _ = select.select([self._ours], [], [], LIMIT)
            assert ready, self.shown[-2000:]
            self.shown += os.read(self._ours, 65536).decode(errors="replace")

    def restored(self) -> bool:
        return termios.tcgetattr(self._theirs) == self.before

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)
        os.close(self._theirs)


def play(command: list[str]) -> tuple[int, str, bool]:
    """Types into a shell far away: looks at the size before and after a change of it, and presses Ctrl-C."""
    screen = Screen(command, (24, 80))
    try:
        screen.until(lambda shown: "begun" in shown)
        screen.type("\r")
        screen.until(lambda shown: "24 80" in shown)
        screen.resize(30, 100)
        while "30 100" not in screen.shown:
            answers = screen.shown.count("ok\r\n")
            screen.type("\r")
            screen.until(lambda shown, before=answers: shown.count("ok\r\n") > before)  # type: ignore[misc]
        screen.type("\x03")
        return screen.process.wait(LIMIT), screen.shown, screen.restored()
    finally:
        screen.close()


async def test_a_terminal_has_its_size_and_passes_ctrl_c_on(tmp_path: pathlib.Path) -> None:
    async with exec_fleet() as served:
        ann = await served.kubeconfig(tmp_path)
        await sleeping(served.it)
        command = [*COMMAND, "exec", "job/train", "-it", "--kubeconfig", str(ann), "--", "sh", "-c", SHELL]
        code, shown, restored = await asyncio.to_thread(play, command)
        assert (code, restored) == (9, True), shown


@pytest.mark.parametrize("options", [(), ("-i",)])
async def test_ctrl_c_ends_a_command_without_a_terminal(tmp_path: pathlib.Path, options: tuple[str, ...]) -> None:
    async with exec_fleet() as served:
        ann = await served.kubeconfig(tmp_path)
        await sleeping(served.it)
        words = ("sh", "-c", "echo begun; exec sleep 1000")
        command = [*COMMAND, "exec", "job/train", *options, "--kubeconfig", ann, "--", *words]
        code, shown = await asyncio.to_thread(in_terminal, command, b"begun", b"\x03")
        assert code == 130, shown
        assert "Traceback" not in shown


def end_by_signal(command: list[str]) -> tuple[int, bool]:
    """Ends a command that has its terminal."""
    screen = Screen(command, (24, 80))
    try:
        screen.until(lambda shown: "begun" in shown)
        assert not screen.restored()
        screen.process.terminate()
        return screen.process.wait(LIMIT), screen.restored()
    finally:
        screen.close()


async def test_the_terminal_is_restored_when_the_command_is_terminated() -> None:
    async with exec_fleet() as served:
        await sleeping(served.it)
        home = str(served.it.management.kubeconfig)
        command = [*COMMAND, "exec", "job/train", "-it", "--kubeconfig", home, "--", "sh", "-c", SHELL]
        assert await asyncio.to_thread(end_by_signal, command) == (143, True)
