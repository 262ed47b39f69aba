"""Lists what src defines and never uses: functions, classes, methods, attributes and constants. Run by `make lint`.

References are resolved through imports and re-exports; an import or a place in `__all__` alone is no use, and neither
is a test. Members are matched by name. The public surface counts as used: names in examples, in the documentation of
Python, and entry points. Exceptions, with a reason each, are in deadcode-allowed.txt: what is called from outside of
our code, by name.
"""

from __future__ import annotations

import ast
import collections
import pathlib
import re
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src"
ALLOWED = pathlib.Path(__file__).with_name("deadcode-allowed.txt")
PLAIN_DECORATORS = {
    "abstractmethod", "asynccontextmanager", "cache", "cached_property", "classmethod", "contextmanager", "dataclass",
    "final", "lru_cache", "overload", "property", "runtime_checkable", "setter", "staticmethod", "total_ordering",
}  # fmt: skip
"""Decorators that call nothing: any other one is taken as a registration, and so as a use."""
PLAIN_BASES = {
    "ABC", "Enum", "Exception", "Generic", "IntEnum", "NamedTuple", "Protocol", "RuntimeError", "StrEnum", "Struct",
    "TypedDict", "ValueError", "enum.StrEnum", "msgspec.Struct",
}  # fmt: skip
"""Bases from outside that call no method of their subclasses by name."""
DATA_BASES = {"Struct", "TypedDict", "NamedTuple"}
"""Bases whose fields are part of a format."""
DOCUMENTS = [
    ROOT / "docs/reference/python.md",
    ROOT / "docs/guides/testing.md",
]
CODE = re.compile(r"```python\n.*?```|`[^`\n]+`", re.DOTALL)
WORD = re.compile(r"[A-Za-z_]\w*")

Definition = tuple[str, str]
"""A module and a name in it, or a class and a member: ("jobrelay.kube.cache.Cache", "get")."""


class Module:
    """One source file: what it defines, what its names stand for, and what it refers to."""

    def __init__(self, path: pathlib.Path) -> None:
        parts = path.relative_to(SOURCES).with_suffix("").parts
        self.path, self.package = path, parts[-1] == "__init__"
        self.name = ".".join(parts[:-1] if self.package else parts)
        self.tree = ast.parse(path.read_text())
        self.aliases: dict[str, Definition] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                origin = self._origin(node)
                self.aliases |= {each.asname or each.name: (origin, each.name) for each in node.names}
            elif isinstance(node, ast.Import):
                self.aliases |= {each.asname: (each.name, "") for each in node.names if each.asname}

    def _origin(self, node: ast.ImportFrom) -> str:
        """The module that is imported from, also by a relative import."""
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        above = parts[: len(parts) - node.level + self.package]
        return ".".join([*above, node.module] if node.module else above)

    def definitions(self) -> Iterator[tuple[Definition, int]]:
        for node in self.tree.body:
            for name in _defined(node):
                yield (self.name, name), node.lineno
            if isinstance(node, ast.ClassDef):
                yield from ((self._member(node, name), line) for name, line in _members(node))

    def _member(self, node: ast.ClassDef, name: str) -> Definition:
        return f"{self.name}.{node.name}", name


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [] if _registered(node) or _special(node.name) else [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [each.id for each in targets if isinstance(each, ast.Name) and not _special(each.id)]


def _members(node: ast.ClassDef) -> Iterator[tuple[str, int]]:
    bases = {_last(base) for base in node.bases}
    for each in node.body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            if not _special(each.name) and not _registered(each):
                yield each.name, each.lineno
        elif not bases & DATA_BASES:
            yield from ((name, each.lineno) for name in _defined(each))


def _special(name: str) -> bool:
    return name == "_" or (name.startswith("__") and name.endswith("__"))


def _last(node: ast.AST) -> str:
    """The last part of a dotted name, also below a call or a subscript."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _registered(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    return any(_last(each) not in PLAIN_DECORATORS for each in node.decorator_list)


class Uses(ast.NodeVisitor):
    """What one module refers to: resolved definitions, and the bare names of members."""

    def __init__(self, module: Module, modules: dict[str, Module]) -> None:
        self._module, self._modules = module, modules
        self._inside: list[str] = []
        self.definitions: set[Definition] = set()
        self.members: collections.Counter[str] = collections.Counter()
        self.visit(module.tree)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self._inside.append(node.name)
        self.generic_visit(node)
        self._inside.pop()

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef  # noqa: N815

    def visit_Assign(self, node: ast.Assign) -> None:
        if not any(isinstance(each, ast.Name) and each.id == "__all__" for each in node.targets):
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and node.id not in self._inside[:1]:
            self._use(self._module.aliases.get(node.id, (self._module.name, node.id)))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Store) and not (
            self._inside[1:2] == [node.attr] and _last(node.value) == "self"
        ):
            self.members[node.attr] += 1
            if isinstance(node.value, ast.Name) and node.value.id in self._module.aliases:
                above, name = self._module.aliases[node.value.id]
                self._use((f"{above}.{name}".rstrip("."), node.attr))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Forward references, and names for getattr."""
        if isinstance(node.value, str) and node.value.isidentifier():
            self.members[node.value] += 1
            self._use(self._module.aliases.get(node.value, (self._module.name, node.value)))

    def visit_MatchClass(self, node: ast.MatchClass) -> None:
        self.members.update(node.kwd_attrs)
        self.generic_visit(node)

    def _use(self, found: Definition) -> None:
        """Follows re-exports to where the name is defined; all stations are in use."""
        while found not in self.definitions:
            self.definitions.add(found)
            module = self._modules.get(found[0])
            if module is None or found[1] not in module.aliases:
                return
            found = module.aliases[found[1]]


def outside_words() -> set[str]:
    """The public surface: names in examples, in the documentation of Python, and as entry points."""
    words = set(WORD.findall((ROOT / "pyproject.toml").read_text()))
    for path in (ROOT / "examples").glob("*.py"):
        words |= set(WORD.findall(path.read_text()))
    for path in DOCUMENTS:
        words |= {word for code in CODE.findall(path.read_text()) for word in WORD.findall(code)}
    return words


def allowed() -> set[str]:
    lines = ALLOWED.read_text().splitlines() if ALLOWED.exists() else []
    return {line.partition("#")[0].strip() for line in lines} - {""}


def _external(node: ast.ClassDef, module: Module) -> bool:
    """Whether a class has a base from outside, which may call its methods."""
    classes = {each.name for each in module.tree.body if isinstance(each, ast.ClassDef)}
    classes |= {name for name, (origin, _) in module.aliases.items() if origin.startswith("jobrelay")}
    bases = {ast.unparse(base.value if isinstance(base, ast.Subscript) else base) for base in node.bases}
    return not bases <= classes | PLAIN_BASES


def unused() -> Iterator[str]:
    modules = {module.name: module for module in map(Module, sorted(SOURCES.rglob("*.py")))}
    uses = [Uses(module, modules) for module in modules.values()]
    used = set().union(*(each.definitions for each in uses))
    members = {name for each in uses for name in each.members}
    documented, exceptions = outside_words(), allowed()
    external = {
        f"{module.name}.{node.name}"
        for module in modules.values()
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and _external(node, module)
    }
    for module in modules.values():
        for (above, name), line in module.definitions():
            if above == module.name:
                found = (above, name) in used or (name.isupper() and name in members)
            else:
                found = name in members or above in external
            if not found and name not in documented and f"{above}.{name}" not in exceptions:
                yield f"{module.path.relative_to(ROOT)}:{line}: {name} ({above}.{name}) is used nowhere"


def main() -> None:
    findings = list(unused())
    print("\n".join(findings) or "Everything that src defines is used.")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
