"""The search for public classes that share a name."""

from __future__ import annotations

import pathlib

import pytest

from tools import names


@pytest.fixture
def shared(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    """Finds the names that classes of some modules share, given by name and text."""
    monkeypatch.setattr(names, "ROOT", tmp_path)
    monkeypatch.setattr(names, "SOURCES", tmp_path / "src")

    def find(**modules: str) -> list[str]:
        for name, text in modules.items():
            path = tmp_path / "src/jobrelay" / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return list(names.shared_names())

    return find


def test_classes_of_two_modules_with_one_name_are_reported_with_both_places(shared) -> None:
    found = shared(a="class Node: ...\n", b="\nclass Node: ...\n")
    assert found == ["src/jobrelay/a.py:1: Node is also the name of the class at src/jobrelay/b.py:2"]


def test_names_that_differ_are_not_reported(shared) -> None:
    assert shared(a="class PodNode: ...\n", b="class Node: ...\n") == []


def test_private_classes_may_share_a_name(shared) -> None:
    assert shared(a="class _View: ...\n", b="class _View: ...\n") == []


def test_classes_inside_of_private_ones_may_share_a_name(shared) -> None:
    assert shared(a="class _A:\n    class View: ...\n", b="class View: ...\n") == []


def test_classes_inside_of_functions_count(shared) -> None:
    found = shared(a="def f():\n    class View: ...\n", b="class View: ...\n")
    assert [line.split(": ")[1].split(" ")[0] for line in found] == ["View"]


def test_importing_a_class_is_not_defining_it(shared) -> None:
    assert shared(a="class Node: ...\n", b="from jobrelay.a import Node\n") == []
