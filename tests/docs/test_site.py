"""The site: links out of docs/ lead to its pages, every page is in the navigation, nothing comes from elsewhere."""

from __future__ import annotations

import importlib.util
import itertools
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.cli.command import ENVIRONMENT, ROOT
from tools import site
from tools.site import FENCE


class Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, whose tags name Python's functions, without calling them."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)


def pages(nav: list[Any]) -> Iterator[str]:
    """The pages of a navigation, or of a part of it."""
    for entry in nav:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            yield from pages(value) if isinstance(value, list) else [value]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    if importlib.util.find_spec("material") is None:
        pytest.skip("the dependency group docs is not installed: make docs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    variables = ENVIRONMENT | {"NO_MKDOCS_2_WARNING": "1"}
    result = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=300, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    return folder


def test_every_page_is_in_the_navigation_once() -> None:
    listed = sorted(pages(yaml.load((ROOT / "mkdocs.yml").read_text(), Loader)["nav"]))
    assert listed == sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md"))


def test_a_link_within_docs_is_kept() -> None:
    assert site.with_site_links("docs/guides/relay.md", "[x](../concepts/relay.md#fencing)") == (
        "[x](../concepts/relay.md#fencing)"
    )


def test_a_link_out_of_docs_leads_to_a_page_of_the_site() -> None:
    changed = site.with_site_links(
        "docs/guides/testing.md", "[a](../../examples/README.md#x) [b](../../examples/demo.py)"
    )
    assert changed == "[a](../repository/examples/README.md#x) [b](../repository/examples/demo.py.md)"


def test_a_page_outside_links_back_into_docs() -> None:
    assert site.with_site_links("CONTRIBUTING.md", "![x](docs/images/plan.svg)") == "![x](../images/plan.svg)"


def test_addresses_anchors_and_code_are_kept() -> None:
    text = "[a](https://a.example/b) [b](#c)\n```\n[d](../../README.md)\n```\n"
    assert site.with_site_links("docs/guides/relay.md", text) == text


@pytest.mark.parametrize(
    "path", ["docs/guides/relay.md", "CONTRIBUTING.md", "examples/demo.py", "tests/real/README.md"]
)
def test_a_page_is_found_again_by_its_place_on_the_site(path: str) -> None:
    assert site.repository_path(site.site_path(path)) == path


def test_what_outside_pages_link_to_is_there_too() -> None:
    found = site.outside_files()
    assert "examples/planning/jobs.csv" in found, "linked from examples/README.md, which docs/ links to"
    assert found["examples/04_managed_jobs.py"].startswith("# examples/04_managed_jobs.py\n\n````python\n")


def test_the_site_is_built_without_warnings(built: pathlib.Path) -> None:
    text = (built / "guides" / "testing.html").read_text()
    assert 'href="../repository/examples/testing/test_kopf.py.html"' in text


def test_the_site_loads_nothing_from_elsewhere(built: pathlib.Path) -> None:
    loaded = re.compile(r'<(?:script|img|link|iframe)\b[^>]*(?:src|href)="(?:https?:)?//|class="mermaid"|@import')
    assert [path.name for path in built.rglob("*.html") if loaded.search(path.read_text())] == []


def unseparated(text: str) -> list[str]:
    """Lists and tables that follow a line of text at once: GitHub shows them as such, the site does not."""
    lines = FENCE.sub("", text).splitlines()
    pairs = itertools.pairwise(line for line in lines if not line.startswith("<!--"))
    return [
        line
        for before, line in pairs
        if (re.match(r"(- |\d+\. )", line) and before.strip() and not re.match(r"(- |\d+\. |\s)", before))
        or (line.startswith("|") and before.strip() and not before.startswith("|"))
    ]


@pytest.mark.parametrize("path", sorted((ROOT / "docs").rglob("*.md")), ids=lambda path: path.stem)
def test_lists_and_tables_have_an_empty_line_before_them(path: pathlib.Path) -> None:
    assert unseparated(path.read_text()) == []


def test_a_list_without_an_empty_line_is_found() -> None:
    assert unseparated("text\n- a\n- b\n\n| c |\n|---|\n\n```\ntext\n- d\n```\n") == ["- a"]
