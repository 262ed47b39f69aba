"""The algebra of field sets against sets of paths, and how paths are written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.apimachinery.apply import fieldset
from jobrelay.apimachinery.apply.fieldset import Fields, FieldsError

Path = tuple[str, ...]
path_sets = st.frozensets(
    st.lists(st.sampled_from(["f:a", "f:b", 'v:"x"']), min_size=1, max_size=3).map(tuple), max_size=6
)


def to_fields(paths: frozenset[Path]) -> Fields:
    """A naive encoder: every path inserted from the root."""
    root: Fields = {}
    for path in paths:
        node = root
        for key in path:
            node = node.setdefault(key, {})
        node["."] = {}
    return tidy(root)


def tidy(node: Fields) -> Fields:
    if set(node) == {"."}:
        return {}
    return {key: tidy(value) if key != "." else {} for key, value in node.items()}


def to_paths(fields: Fields) -> frozenset[Path]:
    return frozenset(fieldset.paths(fields))


@given(path_sets)
def test_a_set_is_read_as_it_was_written(paths: frozenset[Path]) -> None:
    assert to_paths(to_fields(paths)) == paths


@given(path_sets, path_sets)
def test_union(left: frozenset[Path], right: frozenset[Path]) -> None:
    assert fieldset.union(to_fields(left), to_fields(right)) == to_fields(left | right)


@given(path_sets, path_sets)
def test_intersection(left: frozenset[Path], right: frozenset[Path]) -> None:
    assert fieldset.intersection(to_fields(left), to_fields(right)) == to_fields(left & right)


@given(path_sets, path_sets)
def test_difference(left: frozenset[Path], right: frozenset[Path]) -> None:
    assert fieldset.difference(to_fields(left), to_fields(right)) == to_fields(left - right)


@given(path_sets, path_sets)
def test_recursive_difference(left: frozenset[Path], right: frozenset[Path]) -> None:
    def below(path: Path) -> bool:
        return any(path[: len(other)] == other for other in right)

    expected = frozenset(path for path in left if not below(path))
    assert fieldset.recursive_difference(to_fields(left), to_fields(right)) == to_fields(expected)


@given(path_sets, st.lists(st.sampled_from(["f:a", "f:b"]), max_size=3).map(tuple))
def test_membership(paths: frozenset[Path], path: Path) -> None:
    assert fieldset.has(to_fields(paths), path) is (path in paths)


def test_paths_are_listed_level_by_level_in_order() -> None:
    fields: Fields = {
        "f:b": {"f:z": {}, ".": {}},
        "f:a": {"f:y": {}},
        'k:{"n":2}': {},
        'k:{"n":10}': {},
        "v:1": {},
        "i:0": {},
    }
    assert ["".join(path) for path in fieldset.paths(fields)] == [
        "f:b", 'k:{"n":2}', 'k:{"n":10}', "v:1", "i:0", "f:af:y", "f:bf:z",
    ]  # fmt: skip


def test_sets_are_written_in_order() -> None:
    fields: Fields = {
        "f:b": {"f:z": {}, "f:y": {}},
        "f:a": {'k:{"n":10}': {"f:n": {}, ".": {}}, 'k:{"n":2}': {}, ".": {}},
    }
    made = fieldset.ordered(fields)
    assert made == fields
    assert (list(made), list(made["f:a"]), list(made["f:b"])) == (
        ["f:a", "f:b"], [".", 'k:{"n":2}', 'k:{"n":10}'], ["f:y", "f:z"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("element", "text"),
    [
        ("f:name", ".name"),
        ('k:{"containerPort":80,"protocol":"TCP"}', '[containerPort=80,protocol="TCP"]'),
        ('v:"x"', '[="x"]'),
        ("v:1.5", "[=1.5]"),
        ("v:true", "[=true]"),
        ("i:3", "[3]"),
    ],
)
def test_elements_in_messages(element: str, text: str) -> None:
    assert fieldset.element_text(element) == text


def test_elements_are_escaped_as_go_does() -> None:
    assert fieldset.value_element("<a&b>") == 'v:"\\u003ca\\u0026b\\u003e"'
    assert fieldset.key_element({"b": 1, "a": "x"}) == 'k:{"a":"x","b":1}'


def test_whole_numbers_have_one_spelling() -> None:
    assert fieldset.value_element(2.0) == fieldset.value_element(2) == "v:2"
    assert fieldset.key_element({"id": 1.5}) == 'k:{"id":1.5}'


def test_sets_of_clients_are_made_canonical() -> None:
    sent: Fields = {"f:a": {'k:{ "b":1, "a":"x" }': {".": {}}}, "z:later": {}, "v: 1": {}}
    assert fieldset.canonical(sent) == {"f:a": {'k:{"a":"x","b":1}': {}}, "v:1": {}}


@pytest.mark.parametrize("sent", [{"nocolon": {}}, {"k:[1]": {}}, {"v:{": {}}, {"i:x": {}}, {"f:a": 1}, [], {"x": {}}])
def test_sets_that_cannot_be_read(sent: Any) -> None:
    with pytest.raises(FieldsError):
        fieldset.canonical(sent)
