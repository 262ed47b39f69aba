"""All scenarios: every module of this package offers `scenarios()`.

Modules in `SLOW` read large files and are loaded only when asked for.
"""

from __future__ import annotations

import importlib
import pkgutil

from ..model import Scenario

SLOW = frozenset({"manifests"})


def load(slow: bool = False) -> list[Scenario]:
    found: list[Scenario] = []
    for module in sorted(info.name for info in pkgutil.iter_modules(__path__)):
        if not module.startswith("_") and (slow or module not in SLOW):
            found.extend(importlib.import_module(f"{__name__}.{module}").scenarios())
    names = [s.name for s in found]
    if len(set(names)) != len(names):
        raise ValueError(f"scenario names are not unique: {sorted(n for n in names if names.count(n) > 1)}")
    return found
