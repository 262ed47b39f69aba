"""Admission is decided without its shell, a clock or I/O: what `core` imports."""

from __future__ import annotations

import ast
import pathlib
from collections.abc import Iterator
from typing import Final

from jobrelay.queueing import core

PURE: Final = frozenset(
    {"jobrelay.apimachinery.quantity", "jobrelay.apimachinery.selectors", "jobrelay.kinds.core", "msgspec"}
)
STANDARD: Final = frozenset(
    {"__future__", "abc", "collections", "dataclasses", "enum", "fractions", "functools", "hashlib", "heapq", "math"}
    | {"typing"}
)
FOLDER: Final = pathlib.Path(core.__file__).parent


def imported(path: pathlib.Path) -> Iterator[str]:
    """The modules that a file of `core` imports, by their names from outside."""
    levels = len(path.relative_to(FOLDER).parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and not 0 < node.level <= levels:
            yield "." * node.level + (node.module or "")


def test_core_imports_nothing_but_itself_and_pure_helpers() -> None:
    found = {name for path in FOLDER.rglob("*.py") for name in imported(path)}
    own = {name for name in found if name.startswith(core.__name__)}
    helpers = {name for name in found - own if name.split(".")[0] not in STANDARD}
    assert {name for name in helpers if name not in PURE and not name.startswith("msgspec.")} == set()
