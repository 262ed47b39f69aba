"""The fleet of a folder: which one was started there, so that commands in it need no KUBECONFIG.

`jobrelay up` notes its working directory below the user's state, under a name made of the directory's path. A command
looks for such a note of its own directory and of those above it. A note counts only while its fleet runs.
"""

from __future__ import annotations

import hashlib
import pathlib

from jobrelay.fleet.folder import FleetFolder

__all__ = ["FleetNotes"]


class FleetNotes:
    """The notes in a folder of the user's state."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder

    def _note(self, directory: pathlib.Path) -> pathlib.Path:
        return self._folder / hashlib.sha256(str(directory).encode()).hexdigest()[:32]

    def write(self, directory: pathlib.Path, fleet: pathlib.Path) -> None:
        """Notes that a fleet was started in a directory."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._note(directory).write_text(f"{fleet}\n")

    def find(self, directory: pathlib.Path) -> FleetFolder | None:
        """The running fleet of a directory, or of the nearest one above it that has one."""
        if not self._folder.is_dir():
            return None
        for each in (directory, *directory.parents):
            try:
                fleet = FleetFolder(pathlib.Path(self._note(each).read_text().rstrip("\n")))
            except OSError:
                continue
            if fleet.holder() is not None:
                return fleet
        return None
