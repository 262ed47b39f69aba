"""Where commands keep what lasts from one call to the next."""

from __future__ import annotations

import os
import pathlib

__all__ = ["state_folder"]


def state_folder() -> pathlib.Path:
    """The folder of this user: below XDG_STATE_HOME, or ~/.local/state."""
    state = os.environ.get("XDG_STATE_HOME")
    return (pathlib.Path(state) if state else pathlib.Path.home() / ".local" / "state") / "jobrelay"
