"""Declarations of managers are complete, and what they wait for is found."""

from __future__ import annotations

import dataclasses
import pathlib

import pytest

from .managers import FOLDER, ORDER, contains, load
from .picture import picture
from .programs import missing
from .story import Story


def test_every_declaration_has_a_place_in_the_order() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(ORDER)


@pytest.mark.parametrize("name", ORDER)
def test_a_declaration_says_how_its_manager_refuses(name: str) -> None:
    manager = load(name)
    assert manager.refusal["code"] >= 400
    assert manager.refusal["message"]


def test_a_list_contains_items_in_any_order() -> None:
    found = {"conditions": [{"type": "A", "status": "True"}, {"type": "B", "status": "False", "reason": "R"}]}
    assert contains(found, {"conditions": [{"type": "B", "status": "False"}]})


def test_a_value_that_differs_is_not_contained() -> None:
    assert not contains({"status": {"succeeded": 1}}, {"status": {"succeeded": 2}})
    assert not contains({"status": {}}, {"status": {"succeeded": 2}})


def test_a_manager_is_missing_until_all_its_programs_are_built(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBE_ORACLE", str(tmp_path))
    manager = dataclasses.replace(load("jobset"), programs={"two": ("first", "second")})
    (tmp_path / "adopters").mkdir()
    (tmp_path / "adopters" / "first-v1").touch()
    assert missing(manager, {"two": "v1"}) == ["two"]
    (tmp_path / "adopters" / "second-v1").touch()
    assert missing(manager, {"two": "v1"}) == []


def _story(uid: str, owner: str, suffix: str) -> Story:
    job = {"metadata": {"name": "a", "uid": uid, "resourceVersion": uid[0]}}
    pod = {"metadata": {"name": f"a-{suffix}", "generateName": "a-", "ownerReferences": [{"uid": owner}]}}
    return Story({"jobs": [job], "pods": [pod]}, {}, {"code": 403, "message": "no"}, 1.0)


FIRST, SECOND = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


def test_a_picture_hides_what_differs_between_runs() -> None:
    assert picture(_story(FIRST, FIRST, "bbbbb"), {}) == picture(_story(SECOND, SECOND, "ccccc"), {})


def test_a_picture_shows_another_owner() -> None:
    assert picture(_story(FIRST, FIRST, "bbbbb"), {}) != picture(_story(FIRST, SECOND, "bbbbb"), {})
