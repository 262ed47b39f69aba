"""Generates docs/reference/python.md from the docstrings of the public names: `make reference`.

A package's public names are those in its `__all__`. The output depends on nothing but the source, so that a test can
compare it with the file, on every supported version of Python.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import importlib
import inspect
import pathlib
import re
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Generic, is_typeddict

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "reference" / "python.md"
PACKAGES = (
    "jobrelay.sdk",
    "jobrelay.cluster",
    "jobrelay.kube",
    "jobrelay.control",
    "jobrelay.workloads",
    "jobrelay.queueing.core",
    "jobrelay.relay",
    "jobrelay.relay.placement",
    "jobrelay.relay.workers",
    "jobrelay.operate",
    "jobrelay.fleet",
    "jobrelay.testing",
    "jobrelay.simulation",
    "jobrelay.planning",
    "jobrelay.kit",
    "jobrelay.kit.tasks",
    "jobrelay.conformance",
)
INTRODUCTION = """\
# Python

This page is generated from docstrings by `make reference`. It lists the public names of each package: what is not on it
can change without notice. Everything is typed (`py.typed`), and everything that does I/O is asynchronous.
[Examples](../../examples/README.md) show how the parts work together.
"""
_FIELD_LISTS = ("__struct_fields__", "_fields")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def page() -> str:
    """The whole page."""
    modules = [importlib.import_module(name) for name in PACKAGES]
    contents = "\n".join(f"- [`{module.__name__}`](#{anchor(module)}): {summary(module)}" for module in modules)
    text = "\n".join([INTRODUCTION, contents, *(section(module) for module in modules)])
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


@functools.cache
def all_public() -> frozenset[object]:
    """Every public class and function of all packages."""
    modules = [importlib.import_module(name) for name in PACKAGES]
    found = [getattr(module, name) for module in modules for name in public_names(module)]
    return frozenset(thing for thing in found if inspect.isclass(thing) or inspect.isfunction(thing))


def public_names(module: ModuleType) -> list[str]:
    """The names in `__all__`, classes first, each group in alphabetical order."""
    return sorted(getattr(module, "__all__", ()), key=lambda name: (not _is_class(getattr(module, name)), name.lower()))


def anchor(module: ModuleType) -> str:
    return module.__name__.replace(".", "")


def summary(thing: object) -> str:
    """The first line of a docstring."""
    return docstring(thing).partition("\n")[0]


def docstring(thing: object) -> str:
    """A thing's own docstring; empty if it is inherited or generated."""
    own = vars(thing).get("__doc__") if inspect.isclass(thing) else getattr(thing, "__doc__", None)
    text = inspect.cleandoc(own) if isinstance(own, str) else ""
    generated = dataclasses.is_dataclass(thing) and text.startswith(f"{getattr(thing, '__name__', '')}(")
    return "" if generated else text


def section(module: ModuleType) -> str:
    entries = ["\n".join(entry(name, getattr(module, name))) for name in public_names(module)]
    return "\n".join([f"\n## {module.__name__}\n\n{markdown(docstring(module))}\n", *entries])


def entry(name: str, thing: Any) -> Iterator[str]:
    """The lines about one public name."""
    yield f"### {name}\n"
    if _is_class(thing):
        yield from _class(name, thing)
    elif inspect.isfunction(thing):
        yield f"```python\n{wrapped(declaration(name, thing))}\n```\n"
        yield f"{markdown(docstring(thing))}\n"
    else:
        yield f"`{name}`: {_kind(thing)}.\n"


def _class(name: str, cls: type) -> Iterator[str]:
    lines = [f"class {name}{_bases(cls)}", *_members(cls)]
    yield "```python\n" + "\n".join(map(wrapped, lines)) + "\n```\n"
    yield f"{markdown(docstring(cls))}\n"
    for member, thing in _methods(cls):
        if text := docstring(thing):
            yield f"- `{member}`: {' '.join(text.split())}"
    yield ""


def _members(cls: type) -> Iterator[str]:
    """How a class is constructed, then its fields or values, then its methods."""
    if issubclass(cls, enum.Enum):
        yield from (f"    {value.name} = {value.value!r}" for value in cls)
        return
    init = vars(cls).get("__init__")
    if inspect.isfunction(init) and not _has_fields(cls) and not getattr(cls, "_is_protocol", False):
        yield f"    {declaration('__init__', init)}"
        yield from (f"    {attribute}" for attribute in _attributes(init))
    if _has_fields(cls):
        parameters = {} if is_typeddict(cls) else inspect.signature(cls).parameters
        yield from (
            f"    {field}: {annotation(kind)}{_assigned(parameters.get(field))}" for field, kind in _fields(cls)
        )
    for name, thing in _methods(cls):
        if isinstance(thing, property):
            returns = thing.fget.__annotations__.get("return", "") if thing.fget else ""
            yield f"    {name}: {annotation(returns)}  # property"
        else:
            if inspect.isasyncgenfunction(inspect.unwrap(thing)) and not inspect.isasyncgenfunction(thing):
                yield "    @asynccontextmanager"
            yield f"    {declaration(name, inspect.unwrap(thing))}"


def _has_fields(cls: type) -> bool:
    return dataclasses.is_dataclass(cls) or is_typeddict(cls) or any(hasattr(cls, each) for each in _FIELD_LISTS)


def _fields(cls: type) -> Iterator[tuple[str, Any]]:
    for base in reversed(cls.__mro__):
        for name, kind in inspect.get_annotations(base).items():
            if not name.startswith("_"):
                yield name, kind


def _attributes(init: Any) -> Iterator[str]:
    """The public attributes that a constructor sets, with their types where the source states them."""
    kinds = {name: annotation(each.annotation) for name, each in inspect.signature(init).parameters.items()}
    for target, value, kind in _assignments(ast.parse(textwrap.dedent(inspect.getsource(init)))):
        if isinstance(target, ast.Attribute) and not target.attr.startswith("_"):
            kind = kind or (kinds.get(value.id, "") if isinstance(value, ast.Name) else "")
            yield f"{target.attr}: {kind}" if kind else target.attr


def _assignments(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr | None, str]]:
    """(target, value, annotation) of every assignment; `a, b = x, y` is two."""
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign):
            yield node.target, node.value, ast.unparse(node.annotation)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    yield from ((each, value, "") for each, value in zip(target.elts, node.value.elts, strict=True))
                else:
                    yield target, node.value, ""


def _methods(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties, with those of bases that are not public themselves."""
    bases = [base for base in cls.__mro__[1:] if base.__module__.startswith("jobrelay") and base not in all_public()]
    found = {name: thing for base in (*reversed(bases), cls) for name, thing in vars(base).items()}
    for name, thing in found.items():
        if name.startswith("_") and name not in ("__aenter__", "__call__"):
            continue
        if isinstance(thing, (staticmethod, classmethod)):
            thing = thing.__func__
        if inspect.isfunction(inspect.unwrap(thing)) or isinstance(thing, property):
            yield name, thing


def declaration(name: str, function: Any) -> str:
    """`async def name(parameters) -> type`, without `self`."""
    signature = inspect.signature(function)
    parameters = [each for each in signature.parameters.values() if each.name not in ("self", "cls")]
    keyword = "async def" if inspect.iscoroutinefunction(function) else "def"
    returns = annotation(signature.return_annotation)
    text = f"{keyword} {name}({', '.join(_parameters(parameters))})"
    return text if name == "__init__" else f"{text} -> {returns}"


def _parameters(parameters: list[inspect.Parameter]) -> Iterator[str]:
    starred = False
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        prefix = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        starred = starred or each.kind is each.VAR_POSITIONAL
        hint = "" if each.annotation is each.empty else f": {annotation(each.annotation)}"
        yield f"{prefix}{each.name}{hint}{_assigned(each)}"


def wrapped(line: str, width: int = 110) -> str:
    """A declaration, with one parameter per line if it would be too long."""
    if len(line) <= width:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    start, _, rest = line.partition("(")
    parameters, closing, returns = rest.rpartition(")")
    split = re.split(r", (?![^\[(]*[\])])", parameters)
    return "\n".join([f"{start}(", *(f"{indent}    {each}," for each in split), f"{indent}{closing}{returns}"])


def annotation(value: Any) -> str:
    if value is inspect.Signature.empty:
        return "None"
    value = getattr(value, "__forward_arg__", value)
    return value if isinstance(value, str) else getattr(value, "__name__", str(value))


def _assigned(parameter: inspect.Parameter | None) -> str:
    return "" if parameter is None or parameter.default is parameter.empty else f" = {_default(parameter.default)}"


def _default(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    shown = repr(value)
    return "..." if shown.startswith("<") or _ADDRESS.search(shown) or len(shown) > 60 else shown


def _bases(cls: type) -> str:
    if is_typeddict(cls):
        return "(TypedDict, total=False)"
    bases = [base.__name__ for base in cls.__bases__ if base not in (object, Generic) and base.__name__[0] != "_"]
    return f"({', '.join(bases)})" if bases else ""


def _is_class(thing: Any) -> bool:
    return inspect.isclass(thing)


def _kind(thing: Any) -> str:
    if isinstance(thing, (str, int, float)):
        return f"`{thing!r}`"
    module = type(thing).__module__
    return "a type alias" if module in ("typing", "types", "collections.abc") else f"a `{type(thing).__name__}`"


def markdown(text: str) -> str:
    """A docstring as Markdown: indented blocks become code blocks."""
    lines, inside = [], False
    for line in text.splitlines():
        if line.startswith("    ") and not inside and (not lines or not lines[-1]):
            lines.append("```python")
            inside = True
        elif inside and line and not line.startswith("    "):
            lines.insert(len(lines) - 1, "```")
            inside = False
        lines.append(line.removeprefix("    ") if inside else line)
    return "\n".join([*lines, "```"] if inside else lines)


if __name__ == "__main__":
    PAGE.write_text(page())
