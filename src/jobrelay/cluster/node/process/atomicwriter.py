"""Files of a volume that change together: readers see all of the old ones or all of the new ones, as a kubelet has it.

The files are in a folder of their own. `..data` is a link to it, and what people see are links through `..data`. New files go into a
new folder, and one rename of the link shows them all.
"""

from __future__ import annotations

import datetime as dt
import os
import pathlib
import secrets
import shutil
from collections.abc import Mapping
from typing import Final, NamedTuple

DATA: Final = "..data"
_COMING: Final = "..data_tmp"


class FileProjection(NamedTuple):
    content: bytes
    mode: int


def write(place: pathlib.Path, files: Mapping[str, FileProjection], group: int | None = None) -> bool:
    """Makes a folder hold exactly these files; returns whether that changed anything."""
    link = place / DATA
    old = place / os.readlink(link) if link.is_symlink() else None
    if old is not None and _read(old) == dict(files):
        return False
    new = place / f"..{dt.datetime.now(dt.UTC):%Y_%m_%d_%H_%M_%S}.{secrets.randbelow(10**9)}"
    new.mkdir(mode=0o755)
    for path, file in files.items():
        _write(new / path, file, group)
    (place / _COMING).unlink(missing_ok=True)
    (place / _COMING).symlink_to(new.name)
    (place / _COMING).replace(link)
    _show(place, {path.partition("/")[0] for path in files})
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


def _show(place: pathlib.Path, names: set[str]) -> None:
    for name in names:
        if not (place / name).is_symlink():
            (place / name).symlink_to(f"{DATA}/{name}")
    for entry in place.iterdir():
        if entry.is_symlink() and not entry.name.startswith("..") and entry.name not in names:
            entry.unlink()
