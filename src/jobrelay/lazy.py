"""Public names of a package that are imported on first use (PEP 562), so that commands import only what they need."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["lazy_exports"]


def lazy_exports(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__`; `modules` maps each submodule to the names that it defines, separated by spaces."""
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def resolve(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)

    return resolve
