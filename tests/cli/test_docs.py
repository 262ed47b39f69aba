"""Documentation says what is so: its links lead somewhere, its commands exist, its Python compiles."""

from __future__ import annotations

import ast
import pathlib
import re
import shlex

import click
import pytest

from jobrelay.cli import root

from .command import ROOT

PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md")), ROOT / "examples" / "README.md"]
MODULE = re.compile(
    r"`((?:src/jobrelay/|apimachinery/|kinds/|kube/|control/|cluster/|cli/|tests/|tools/|store/)[\w/.-]+)`"
)


def blocks(language: str) -> list[tuple[str, str]]:
    fence = re.compile(rf"```{language}\n(.*?)```", re.DOTALL)
    return [(str(page.relative_to(ROOT)), block) for page in PAGES for block in fence.findall(page.read_text())]


def commands() -> list[tuple[str, str]]:
    lines = [(page, line) for page, block in blocks("sh") for line in block.splitlines()]
    found = [(page, re.match(r"(?:\.venv/bin/)?jobrelay (.*)", line)) for page, line in lines]
    return [(page, match[1]) for page, match in found if match]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: pathlib.Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize(("page", "line"), commands())
def test_commands_exist_with_their_options(page: str, line: str) -> None:
    words = shlex.split(line.partition(">")[0], comments=True)
    command: click.Command = root
    context = click.Context(root, info_name="jobrelay")
    while isinstance(command, click.Group):
        name = words.pop(0)
        found = command.get_command(context, name)
        assert found is not None, name
        command = found
    command.make_context(command.name, words, parent=context).close()


@pytest.mark.parametrize(("page", "block"), blocks("python"))
def test_python_compiles(page: str, block: str) -> None:
    assert compile(block, page, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT).co_filename == page


def test_files_that_the_architecture_names_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    for name in MODULE.findall(text):
        places = [ROOT / name, ROOT / "src" / "jobrelay" / name, ROOT / "src" / "jobrelay" / "cluster" / name]
        assert any(place.exists() for place in places), name


def test_make_targets_that_are_named_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        assert set(re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(), re.MULTILINE)) <= targets
