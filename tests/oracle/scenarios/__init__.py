"""All scenarios: every module of this package offers `scenarios()`."""

from __future__ import annotations

import importlib
import pkgutil

from ..model import Scenario


def load() -> list[Scenario]:
    found: list[Scenario] = []
    for module in sorted(info.name for info in pkgutil.iter_modules(__path__)):
        if not module.startswith("_"):
            found.extend(importlib.import_module(f"{__name__}.{module}").scenarios())
    names = [s.name for s in found]
    if len(set(names)) != len(names):
        raise ValueError(f"scenario names are not unique: {sorted(n for n in names if names.count(n) > 1)}")
    return found
