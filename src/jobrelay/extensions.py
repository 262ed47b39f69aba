"""What installed packages add to jobrelay, by entry points.

Most machines have no such package. So the files in which packages declare entry points are searched for the group's
name first, and `importlib.metadata`, whose import takes longer than that, is used only if one has it.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def installed(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group. The files of every package are read for it, so once per search path."""
    return _find(group, tuple(sys.path))


@functools.lru_cache
def _find(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    if not any(_mentioned(f"[{group}]".encode(), folder or os.curdir) for folder in path):
        return ()
    from importlib.metadata import entry_points

    return tuple(entry_points(group=group))


def _mentioned(header: bytes, folder: str) -> bool:
    """Whether a package in a folder may have entry points of a group; of an archive it is not known."""
    try:
        return any(header in declared for declared in _declarations(folder))
    except NotADirectoryError:
        return True
    except OSError:
        return False


def _declarations(folder: str) -> Iterator[bytes]:
    """The entry points that packages in a folder declare, as they are written."""
    for package in os.listdir(folder):
        if package.endswith((".dist-info", ".egg-info", ".egg")):
            for name in ("entry_points.txt", "EGG-INFO/entry_points.txt"):
                try:
                    with open(f"{folder}/{package}/{name}", "rb") as file:
                        yield file.read()
                except OSError:
                    continue
