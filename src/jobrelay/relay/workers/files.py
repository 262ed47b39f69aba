"""Kubeconfigs in files, read again when they change.

Files are looked at every few seconds rather than watched by the kernel: it works on every file system, costs one `stat` per
file, and sees a mounted Secret change, where a link to another folder is exchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

from jobrelay.relay.workers.access import bad, from_text
from jobrelay.relay.workers.spec import Access, Way

__all__ = ["LOOK_EVERY", "KubeconfigFile", "read_foreign", "refreshed"]

LOOK_EVERY = 2.0
_Signature: TypeAlias = tuple[tuple[int, int, int] | None, ...]


def read_foreign(path: Path, allow_exec: frozenset[str]) -> Access:
    """A kubeconfig in a file that an object names: no more is allowed in it than in a Secret."""
    try:
        text = path.read_bytes()
    except OSError as error:
        return bad(f"cannot read {path}: {error.strerror}")
    found = from_text(text, allow_exec)
    return Way(found.connection, found.digest, (path,)) if isinstance(found, Way) else found


class KubeconfigFile:
    """The way that a file leads, as of its last reading."""

    def __init__(self, path: Path, read: Callable[[Path], Access]) -> None:
        self._path, self._read = path, read
        self.access = read(path)
        self._signature = _signature(self._files)

    @property
    def _files(self) -> tuple[Path, ...]:
        return (self.access.files if isinstance(self.access, Way) else ()) or (self._path,)

    def refresh(self) -> bool:
        """Read it again if need be; returns whether it leads elsewhere now. One that is no good is tried every time."""
        if isinstance(self.access, Way) and _signature(self._files) == self._signature:
            return False
        before, self.access = self.access, self._read(self._path)
        self._signature = _signature(self._files)
        return self.access != before


def refreshed(files: Iterable[KubeconfigFile]) -> bool:
    """Look at all of these; returns whether any leads elsewhere now."""
    return sum(file.refresh() for file in files) > 0


def _signature(files: Iterable[Path]) -> _Signature:
    return tuple(map(_stat, files))


def _stat(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
