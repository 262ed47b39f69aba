"""The logs of one pod: a folder per container, a file per run."""

from __future__ import annotations

import pathlib

from jobrelay.cluster.node.process.logs import LogFile


class PodLogs:
    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self._open: dict[str, LogFile] = {}

    def open(self, container: str, run: int) -> LogFile:
        """Opens the log of a new run; the logs of the last two runs are kept."""
        log = self._open[container] = LogFile(self._folder / container / f"{run}.log")
        for old in runs(self._folder / container)[:-2]:
            for part in old.parent.glob(f"{old.name}*"):
                part.unlink()
        return log

    def find(self, container: str, *, previous: bool) -> pathlib.Path | None:
        """The file of the last run, or of the one before."""
        found = runs(self._folder / container)
        position = 2 if previous else 1
        return found[-position] if len(found) >= position else None

    def open_log(self, path: pathlib.Path) -> LogFile | None:
        """The log that is being written to a file, if there is one."""
        return next((log for log in self._open.values() if log.path == path and not log.closed), None)

    def close(self) -> None:
        for log in self._open.values():
            log.close()


def runs(folder: pathlib.Path) -> list[pathlib.Path]:
    """The files of a container's runs, oldest first."""
    return sorted(folder.glob("*.log"), key=lambda path: int(path.stem)) if folder.exists() else []
