"""The command as a child that does not outlive its parent: `python -m jobrelay.cli.child ARGUMENTS...`.

Its standard input is a pipe that the parent holds open and never writes to. When the parent is gone, however it went, the
pipe ends, and the child ends itself as if by SIGTERM.
"""

from __future__ import annotations

import os
import signal
import threading

from jobrelay.cli import main

__all__: list[str] = []


def _follow_parent() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_follow_parent, name="parent", daemon=True).start()
    main()
