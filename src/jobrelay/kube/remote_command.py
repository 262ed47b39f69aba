"""The protocol of commands in containers (exec): streams over a websocket, the first byte of each message the channel.

Version 5 differs from version 4 only in that a side can close a stream (`CLOSE`), which ends a command's stdin.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from jobrelay.apimachinery.gojson import UNREADABLE

from .errors import ProtocolError, Status, error_from_status

__all__ = [
    "CLOSE", "LARGEST_MESSAGE", "PROTOCOLS", "STATUS", "STDERR", "STDIN", "STDOUT", "V5", "command_query", "exit_code",
    "resize_message",
]  # fmt: skip

V5: Final = "v5.channel.k8s.io"
PROTOCOLS: Final = (V5, "v4.channel.k8s.io")
STDIN, STDOUT, STDERR, STATUS, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
LARGEST_MESSAGE: Final = 1 << 20
"""In bytes; kubelets and kubectl send 32 KiB."""
_EXIT_CODE: Final = "ExitCode"


def command_query(command: list[str], container: str, *, stdin: bool, tty: bool) -> list[tuple[str, str]]:
    """The parameters of a pod's exec; a terminal has no stderr of its own."""
    flags = {"stdin": stdin, "stdout": True, "stderr": not tty, "tty": tty}
    named = [("container", container)] if container else []
    return [*(("command", each) for each in command), *named, *((name, "true") for name, on in flags.items() if on)]


def resize_message(columns: int, lines: int) -> bytes:
    """The message that gives the command's terminal a size."""
    return bytes([RESIZE]) + msgspec.json.encode({"Width": columns, "Height": lines})


def exit_code(raw: bytes) -> int:
    """The exit code in the last message (channel 3); raises StatusError if the command did not run to its end."""
    try:
        status = msgspec.json.decode(raw, type=Status)
    except UNREADABLE as error:
        raise ProtocolError(f"the result of the command cannot be read: {error}") from error
    if status.status == "Success":
        return 0
    causes: Any = (status.details.causes or ()) if status.details else ()
    code = next((cause.message for cause in causes if cause.reason == _EXIT_CODE), "")
    if status.reason == "NonZeroExitCode" and code.isascii() and code.isdecimal():
        return int(code)
    raise error_from_status(status)
