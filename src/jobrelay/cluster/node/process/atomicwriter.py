"""Writes the files of a volume atomically, as a kubelet does: readers see all of the old files or all of the new ones.

The files are in a folder of their own. `..data` is a link to that folder, and the visible names are links through
`..data`. New files go into a new folder, and renaming the link switches all of them at once.
"""

from __future__ import annotations

import datetime as dt
import os
import pathlib
import secrets
import shutil
from collections.abc import Mapping
from typing import Final, NamedTuple

from jobrelay.cluster.node.process.names import below, below_path

DATA: Final = "..data"
_NEW_DATA: Final = "..data_tmp"


class FileProjection(NamedTuple):
    content: bytes
    mode: int


def write(folder: pathlib.Path, files: Mapping[str, FileProjection], group: int | None = None) -> bool:
    """Makes a folder contain exactly these files; returns whether that changed anything."""
    link = folder / DATA
    old = below(folder, os.readlink(link)) if link.is_symlink() else None
    files = {str(below_path(folder, path).relative_to(folder)): file for path, file in files.items()}
    if refused := [path for path in files if path.startswith("..") or path == "."]:
        raise ValueError(f"invalid path: must not start with '..': {refused[0]}")
    if old is not None and _read(old) == dict(files):
        return False
    new = folder / f"..{dt.datetime.now(dt.UTC):%Y_%m_%d_%H_%M_%S}.{secrets.randbelow(10**9)}"
    new.mkdir(mode=0o755)
    try:
        for path, file in files.items():
            _write(new / path, file, group)
    except BaseException:
        shutil.rmtree(new)
        raise
    (folder / _NEW_DATA).unlink(missing_ok=True)
    (folder / _NEW_DATA).symlink_to(new.name)
    (folder / _NEW_DATA).replace(link)
    _link(folder, {path.partition("/")[0] for path in files})
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)
    return True


def _read(folder: pathlib.Path) -> dict[str, FileProjection]:
    return {
        str(path.relative_to(folder)): FileProjection(path.read_bytes(), path.stat().st_mode & 0o777)
        for path in folder.rglob("*")
        if path.is_file()
    }


def _write(path: pathlib.Path, file: FileProjection, group: int | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(file.content)
    if group is not None:
        os.chown(path, -1, group)
    path.chmod(file.mode)


def _link(folder: pathlib.Path, names: set[str]) -> None:
    for name in names:
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"{DATA}/{name}")
    for entry in folder.iterdir():
        if entry.is_symlink() and not entry.name.startswith("..") and entry.name not in names:
            entry.unlink()
