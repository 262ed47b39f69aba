"""Public names of a package that are imported on first use (PEP 562), so that commands import only what they need."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["lazy_exports"]


def lazy_exports(package: str, *modules: str, **named: str) -> Callable[[str], Any]:
    """A package's `__getattr__`: finds the names in its `__all__` in these submodules.

    `client="Client Propagation"` says which names a submodule has, so that no other is imported for them. The other
    submodules are searched in their order.
    """
    homes = {name: module for module, names in named.items() for name in names.split()}

    def resolve(name: str) -> Any:
        holder = sys.modules[package]
        for module in ([homes[name]] if name in homes else modules) if name in holder.__all__ else ():
            found = importlib.import_module(f"{package}.{module}")
            if hasattr(found, name):
                setattr(holder, name, getattr(found, name))
                return getattr(found, name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return resolve
