"""Lists public classes of src that share a name. Run by `make lint`.

A class is public if neither its name nor the name of a class around it begins with an underscore.
"""

from __future__ import annotations

import ast
import collections
import pathlib
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src"


def public_classes(node: ast.AST) -> Iterator[ast.ClassDef]:
    """The classes in a syntax tree, also those inside of functions and of other public classes."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.ClassDef):
            if each.name.startswith("_"):
                continue
            yield each
        yield from public_classes(each)


def shared_names() -> Iterator[str]:
    places: dict[str, list[str]] = collections.defaultdict(list)
    for path in sorted(SOURCES.rglob("*.py")):
        for each in public_classes(ast.parse(path.read_text())):
            places[each.name].append(f"{path.relative_to(ROOT)}:{each.lineno}")
    for name, found in sorted(places.items()):
        if len(found) > 1:
            yield f"{found[0]}: {name} is also the name of the class at {', '.join(found[1:])}"


def main() -> None:
    findings = list(shared_names())
    print("\n".join(findings) or "No two public classes of src share a name.")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
