"""`jobrelay` as a child process that does not outlive its parent: `python -m jobrelay.cli.child ARGUMENTS...`.

Its standard input is a pipe that the parent keeps open and never writes to. When the parent exits, for whatever
reason, the pipe is closed and the child sends itself SIGTERM.
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
