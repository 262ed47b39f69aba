"""Public names of a package that are imported on first use (PEP 562), so that commands import only what they need."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["lazy_exports"]


def lazy_exports(package: str, *modules: str) -> Callable[[str], Any]:
    """A package's `__getattr__`: finds the names in its `__all__` in these submodules, in this order."""

    def resolve(name: str) -> Any:
        for module in modules if name in sys.modules[package].__all__ else ():
            found = importlib.import_module(f"{package}.{module}")
            if hasattr(found, name):
                return getattr(found, name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return resolve
