"""The search for names that nothing uses."""

from __future__ import annotations

import pathlib

import pytest

from tools import deadcode


@pytest.fixture
def names(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    """Finds the unused names of some modules, given by name and text."""
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.setattr(deadcode, "ROOT", tmp_path)
    monkeypatch.setattr(deadcode, "SOURCES", tmp_path / "src")
    monkeypatch.setattr(deadcode, "DOCUMENTS", [])

    def find(**modules: str) -> list[str]:
        for name, text in modules.items():
            path = tmp_path / "src/jobrelay" / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return [line.split(": ")[1].split(" ")[0] for line in deadcode.unused()]

    return find


def test_an_import_or_a_place_in_all_is_no_use(names) -> None:
    again = 'from jobrelay.a import f\n__all__ = ["f"]\n'
    assert names(a="def f(): ...\n", __init__=again) == ["f"]
    assert names(b="from jobrelay import f\nf()\n") == []


def test_a_function_that_only_calls_itself_is_unused(names) -> None:
    assert names(a="def f():\n    return f()\n") == ["f"]


def test_relative_imports_and_modules_are_followed(names) -> None:
    assert names(a="def f(): ...\ndef g(): ...\n", b="from .a import f\nfrom . import a\nf()\na.g()\n") == []


def test_members_are_matched_by_name(names) -> None:
    assert names(a="class A:\n    def f(self): ...\n    def g(self): ...\nA().f()\n") == ["g"]


def test_classes_from_outside_may_call_their_methods(names) -> None:
    assert names(a="import asyncio\nclass A(asyncio.Protocol):\n    def data_received(self, data): ...\nA()\n") == []
