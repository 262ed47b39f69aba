"""Kubeconfigs in files, read again when they change.

Files are polled every few seconds: it works on every file system, costs one `stat` per file, and notices when a mounted
Secret changes, where a symbolic link is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

from jobrelay.kube.regular_file import read_regular_file
from jobrelay.relay.workers.access import bad, from_text
from jobrelay.relay.workers.spec import Access, UsableKubeconfig

CHECK_INTERVAL = 2.0
_Signature: TypeAlias = tuple[tuple[int, int, int] | None, ...]


def read_foreign(path: Path, allow_exec: frozenset[str]) -> Access:
    """Read a kubeconfig file that an object names; the same restrictions hold as in a Secret."""
    try:
        text = read_regular_file(path)
    except OSError as error:
        return bad(f"cannot read {path}: {error.strerror}")
    found = from_text(text, allow_exec)
    return UsableKubeconfig(found.connection, found.digest, (path,)) if isinstance(found, UsableKubeconfig) else found


class KubeconfigFile:
    """A kubeconfig file as last read."""

    def __init__(self, path: Path, read: Callable[[Path], Access]) -> None:
        self._path, self._read = path, read
        self.access = read(path)
        self._signature = _signature(self._files)

    @property
    def _files(self) -> tuple[Path, ...]:
        return (self.access.files if isinstance(self.access, UsableKubeconfig) else ()) or (self._path,)

    def refresh(self) -> bool:
        """Read the file again if it has changed or was rejected; returns whether the result differs."""
        if isinstance(self.access, UsableKubeconfig) and _signature(self._files) == self._signature:
            return False
        before, self.access = self.access, self._read(self._path)
        self._signature = _signature(self._files)
        return self.access != before


def refreshed(files: Iterable[KubeconfigFile]) -> bool:
    """Refresh all of these; returns whether any has changed."""
    return sum(file.refresh() for file in files) > 0


def _signature(files: Iterable[Path]) -> _Signature:
    return tuple(map(_stat, files))


def _stat(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
