"""Starting this very package in another process."""

from __future__ import annotations

import os
import pathlib

import jobrelay

__all__ = ["python_path"]


def python_path() -> str:
    """Where a child finds this package, whatever its current folder holds."""
    here = pathlib.Path(jobrelay.__file__).resolve().parents[1]
    return os.pathsep.join(filter(None, [str(here), os.environ.get("PYTHONPATH", "")]))
