"""What installed packages add to jobrelay, by entry points."""

from __future__ import annotations

import functools
import sys
from importlib.metadata import EntryPoint, entry_points


def installed(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group. The files of every package are read for it, so once per search path."""
    return _find(group, tuple(sys.path))


@functools.lru_cache
def _find(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=group))
