"""The scripts: named lists of steps, a family in each file of `scripts/`.

A script with `each` is a template of several: `${name}` is replaced by each value that `each` has for the name, in all
combinations. A text that is nothing but `${name}` becomes the value itself. A family's `settings` are the manager's
configuration, which all its scripts share.
"""

from __future__ import annotations

import hashlib
import itertools
import pathlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

Obj = dict[str, Any]

FOLDER: Final = pathlib.Path(__file__).with_name("scripts")
_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, eq=False)
class Script:
    """One script."""

    family: str
    name: str
    steps: tuple[Obj, ...]

    def slug(self, run: str) -> str:
        """What names of all its objects outside of namespaces begin with; another one in each run."""
        return "s" + hashlib.sha256(f"{run}/{self.family}/{self.name}".encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Family:
    """The scripts of one file; `at_once` bounds how many may be played side by side.

    Those with `workers` are about MultiKueue, and these are the clusters that run what is submitted.
    """

    name: str
    scripts: tuple[Script, ...]
    settings: Obj = field(default_factory=dict)
    at_once: int = 30
    workers: tuple[str, ...] = ()


def families(only: str = "") -> list[Family]:
    """All families, or those whose name is in a list that commas separate."""
    wanted = [part for part in only.split(",") if part]
    return [load(path) for path in sorted(FOLDER.glob("*.yaml")) if not wanted or path.stem in wanted]


def load(path: pathlib.Path) -> Family:
    found = yaml.safe_load(path.read_text())
    head = found.pop("family", {})
    scripts = tuple(script for name, body in found.items() for script in _expanded(path.stem, name, body))
    return Family(path.stem, scripts, **{**head, "workers": tuple(head.get("workers", ()))})


def _expanded(family: str, name: str, body: Obj | list[Obj]) -> Iterator[Script]:
    if isinstance(body, list):
        yield Script(family, name, tuple(body))
        return
    for values in itertools.product(*body["each"].values()):
        known = dict(zip(body["each"], values, strict=True))
        steps = [_filled(step, known) for step in body["steps"]]
        yield Script(family, str(_filled(name, known)), tuple(steps))


def _filled(value: Any, known: Obj) -> Any:
    if isinstance(value, dict):
        return {_filled(key, known): _filled(one, known) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, known) for one in value]
    if not isinstance(value, str):
        return value
    if (whole := _VARIABLE.fullmatch(value)) is not None:
        return known[whole[1]]
    return _VARIABLE.sub(lambda found: str(known[found[1]]), value)
