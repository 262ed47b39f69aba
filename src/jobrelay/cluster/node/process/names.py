"""Paths made of names that come from the API: none leaves the folder that it is made below."""

from __future__ import annotations

import pathlib


def below(folder: pathlib.Path, *names: str) -> pathlib.Path:
    """The path of nested entries of a folder. Raises ValueError for a name that is not that of one entry."""
    for name in names:
        if name in ("", ".", "..") or "/" in name or "\0" in name:
            raise ValueError(f"{name!r} is not a file name")
    return folder.joinpath(*names)


def below_path(folder: pathlib.Path, path: str) -> pathlib.Path:
    """A relative path below a folder, as the paths of projected files are. Raises ValueError for one that leaves it."""
    if path.startswith("/"):
        raise ValueError(f"invalid path: must be relative path: {path}")
    return below(folder, *(part for part in path.split("/") if part not in ("", ".")))
