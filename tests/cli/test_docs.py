"""Documentation is true: its links and anchors exist, its paths and commands exist, its Python compiles."""

from __future__ import annotations

import ast
import itertools
import pathlib
import re
import shlex

import click
import pytest

from jobrelay.cli import root

from .command import ROOT

PAGES = sorted(
    page
    for top in ("", "docs/**/", "bench/", "examples/", "tests/**/", ".github/**/")
    for page in ROOT.glob(f"{top}*.md")
)
SOURCE = ROOT / "src" / "jobrelay"
FOLDERS = ("src", "tests", "tools", "bench", "examples", "docs", "deploy", ".ci", ".github")
FILES = frozenset(path.relative_to(ROOT).as_posix() for top in FOLDERS for path in (ROOT / top).rglob("*"))
PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]*|\w+\.py)`")
"""What looks like a path in inline code: something with a slash, or a module."""
ROOMS = frozenset(path.name for path in SOURCE.iterdir() if path.is_dir()) - {"__pycache__"}
TOPS = {path.name for path in ROOT.iterdir()} | {path.name for path in SOURCE.rglob("*") if path.is_dir()}
COMMAND = re.compile(r"(?:\w+=\S* )*(?:\.venv/bin/)?(?:jobrelay|kubectl relay) (.*)")
INLINE = re.compile(r"`(?:jobrelay|kubectl relay) ([a-z][^`]*)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def name(page: pathlib.Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prose(page: pathlib.Path) -> str:
    """A page without its code blocks."""
    return re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)


def anchors(page: pathlib.Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        number = next(n for n in range(1000) if (f"{anchor}-{n}" if n else anchor) not in found)
        found.add(f"{anchor}-{number}" if number else anchor)
    return found


def dead_links(page: pathlib.Path) -> list[str]:
    dead = []
    for link in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    return dead


def claimed_paths(page: pathlib.Path) -> set[str]:
    """The paths in inline code that belong to this repository: modules, and what begins with one of its folders."""
    found = [path for path in PATH.findall(prose(page)) if not re.fullmatch(r"[a-z.]+/v\d\w*", path)]
    return {path.rstrip("/") for path in found if "/" not in path or path.split("/")[0] in TOPS}


def exists(path: str) -> bool:
    """Whether a file or folder has this path, or a path that ends so: pages name modules within a package."""
    return any(file == path or file.endswith(f"/{path}") for file in FILES) or (ROOT / path).exists()


def blocks(language: str) -> list[tuple[str, str]]:
    fence = re.compile(rf"```{language}\n(.*?)```", re.DOTALL)
    return [(name(page), block) for page in PAGES for block in fence.findall(page.read_text())]


def commands() -> list[tuple[str, str]]:
    """What follows `jobrelay` in blocks of shell commands: in lines that may be continued, joined or piped."""
    found = [
        (page, COMMAND.match(part))
        for page, block in [*blocks("sh"), *blocks("console")]
        for line in block.replace("\\\n", " ").splitlines()
        for part in re.split(r" (?:\|\|?|&&|;) ", line.strip().removeprefix("$ "))
    ]
    return [(page, match[1]) for page, match in found if match]


def mentions() -> list[tuple[str, str]]:
    """What follows `jobrelay` in inline code."""
    found = [(name(page), re.sub(r"\s+", " ", text)) for page in PAGES for text in INLINE.findall(prose(page))]
    return sorted(set(found))


def find_command(words: list[str]) -> tuple[click.Command, list[str], click.Context]:
    """The command that words begin with, and the rest of them; `name|other` stands for either."""
    command: click.Command = root
    context = click.Context(root, info_name="jobrelay")
    while isinstance(command, click.Group) and words:
        found = [command.get_command(context, name) for name in words[0].split("|")]
        assert None not in found, words[0]
        command, words = found[0] or command, words[1:]
    return command, words, context


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_and_anchors_exist(page: pathlib.Path) -> None:
    assert dead_links(page) == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_paths_exist(page: pathlib.Path) -> None:
    assert [path for path in sorted(claimed_paths(page)) if not exists(path)] == []


def test_dead_links_anchors_and_paths_are_found(tmp_path: pathlib.Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A `b` c\n[x](#a-b-c) [x](#nowhere) [x](gone.md) `relay/gone.py` `relay/names.py` `gone.py`\n")
    assert dead_links(page) == ["#nowhere", "gone.md"]
    assert [path for path in sorted(claimed_paths(page)) if not exists(path)] == ["gone.py", "relay/gone.py"]


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_paths_in_every_room_are_checked(room: str, tmp_path: pathlib.Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"`{room}/gone.py`")
    assert claimed_paths(page) == {f"{room}/gone.py"}


@pytest.mark.parametrize(("page", "line"), commands())
def test_commands_exist_with_their_options(page: str, line: str) -> None:
    words = shlex.split(re.split(r" (?:>|2>)", line)[0].rstrip(" &"), comments=True)
    command, words, context = find_command(words)
    assert not isinstance(command, click.Group)
    command.make_context(command.name, words, parent=context).close()


@pytest.mark.parametrize(("page", "text"), mentions())
def test_mentioned_commands_exist_with_their_options(page: str, text: str) -> None:
    command, words, _ = find_command([word.strip("[]") for word in text.split()])
    given = list(itertools.takewhile(lambda word: word != "--", words))
    options = {re.split(r"[=\[|]", word)[0] for word in given if re.match(r"--?[a-z]", word)}
    known = {option for each in command.params for option in [*each.opts, *each.secondary_opts]}
    assert options - known - {"-h", "--help"} == set()


@pytest.mark.parametrize(
    ("page", "block"), [each for each in blocks("python") if each[0] != "docs/reference/python.md"]
)
def test_python_compiles(page: str, block: str) -> None:
    assert compile(block, page, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT).co_filename == page


def test_make_targets_that_are_named_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        assert set(re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(), re.MULTILINE)) <= targets
