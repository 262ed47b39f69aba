"""Hooks of mkdocs: pages link to files of the repository outside docs/, and the site has those too.

In the repository a link is a relative path, and works as it is. On the site, each file that is linked from a page gets
a page below `repository/`: Markdown as it is, anything else as a block of code, folders as a list, and so on for what
these link to. Links are changed to lead there. So the site is complete without a network and without the repository.
"""

from __future__ import annotations

import pathlib
import posixpath
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUTSIDE = "repository"
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
LANGUAGES = {".py": "python", ".yaml": "yaml", ".csv": "text", ".go": "go", ".toml": "toml", ".yml": "yaml"}


def targets(path: str, text: str) -> Iterator[str]:
    """The files of the repository that a file links to."""
    for _, link, _ in (match.groups() for match in LINK.finditer(FENCE.sub("", text))):
        if (found := _target(path, link)) is not None:
            yield found


def site_path(path: str) -> str:
    """Where mkdocs finds a file of the repository, as a path within docs/."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"{OUTSIDE}/{path}" if path.endswith(".md") else f"{OUTSIDE}/{path}.md"


def repository_path(page: str) -> str:
    """The opposite of `site_path`."""
    if not page.startswith(f"{OUTSIDE}/"):
        return f"docs/{page}"
    path = page.removeprefix(f"{OUTSIDE}/")
    return path if (ROOT / path).exists() else path.removesuffix(".md")


def with_site_links(path: str, text: str) -> str:
    """The text of a page of the repository with the links of the site."""
    here = posixpath.dirname(site_path(path))

    def changed(match: re.Match[str]) -> str:
        before, link, after = match.groups()
        found, anchor = _target(path, link), link.partition("#")[2]
        if found is None:
            return match[0]
        return f"{before}{posixpath.relpath(site_path(found), here)}{f'#{anchor}' if anchor else ''}{after}"

    parts = FENCE.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(changed, part) for part in parts)


def outside_files() -> dict[str, str]:
    """The content of the page for each file outside docs/ that can be reached from docs/."""
    found: dict[str, str] = {}
    waiting = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))]
    while waiting:
        path = waiting.pop()
        for target in targets(path, (ROOT / path).read_text()):
            if not target.startswith("docs/") and target not in found:
                found[target] = _page_text(target)
                waiting += [target] if target.endswith(".md") else []
    return found


def _target(path: str, link: str) -> str | None:
    """The path in the repository that a link of a file leads to; None for addresses and anchors of its own page."""
    linked = link.partition("#")[0]
    if not linked or re.match(r"[a-z]+:", link):
        return None
    found = posixpath.normpath(posixpath.join(posixpath.dirname(path), linked))
    return f"{found}/README.md" if (ROOT / found / "README.md").exists() else found


def _page_text(path: str) -> str:
    if (ROOT / path).is_dir():
        return f"# {path}\n\n" + "".join(f"- {file.name}\n" for file in sorted((ROOT / path).iterdir()))
    text = (ROOT / path).read_text()
    if path.endswith(".md"):
        return text
    language = LANGUAGES.get(pathlib.PurePosixPath(path).suffix, "text")
    return f"# {path}\n\n````{language}\n{text}````\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the files outside docs/ that are linked from it."""
    from mkdocs.structure.files import File, InclusionLevel

    for path, text in outside_files().items():
        page = File.generated(config, site_path(path), content=text)
        page.inclusion = InclusionLevel.NOT_IN_NAV
        files.append(page)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Changes the links of a page."""
    return with_site_links(repository_path(page.file.src_uri), markdown)
