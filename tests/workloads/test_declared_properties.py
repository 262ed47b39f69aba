"""Objects of any shape: an open schema lets anybody write them, and workers may show what they like."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobrelay.workloads import status_patch
from jobrelay.workloads.builtin import built_in_descriptions

from .declared_kinds import ADAPTERS, CREATED, KINDS, NOW, PARAMETERS, Obj, as_object, head

_MORE = ("type", "status", "reason", "conditions", "steps", "components", "podSets", "path", "template")


def words(kind: str) -> list[str]:
    """The names that a description looks for, so that values are found where they are expected."""
    text = repr(built_in_descriptions()[ADAPTERS[kind].resource.kind])
    return sorted(
        {*re.findall(r"[A-Za-z]+", text), "type", "status", "reason", "steps", "components", "podSets", "path"}
    )


def values(kind: str) -> st.SearchStrategy[Any]:
    names = st.sampled_from(words(kind))
    leaves = st.none() | st.booleans() | st.integers(-3, 9) | names | st.sampled_from(["", "True", CREATED])
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
        max_leaves=25,
    )


def along_paths(kind: str, top: str) -> st.SearchStrategy[Any]:
    """A map with values at some of the paths that the description names, or any value."""
    text = repr(built_in_descriptions()[ADAPTERS[kind].resource.kind])
    known = [*sorted(set(re.findall(rf"{top}\.[A-Za-z.*]+", text))), f"{top}.conditions.*", f"{top}.components.*"]

    def build(pairs: list[tuple[str, Any]]) -> Any:
        made: Any = {}
        for path, value in pairs:
            for step in reversed(path.split(".")[1:]):
                value = [value] if step == "*" else {step: value}
            made = {**made, **value} if isinstance(value, dict) else value
        return made

    return st.lists(st.tuples(st.sampled_from(known), values(kind)), max_size=4).map(build) | values(kind)


def objects(kind: str) -> st.SearchStrategy[Obj]:
    metadata = {"name": "x", "namespace": "work", "uid": "u", "creationTimestamp": CREATED}
    return st.builds(
        lambda spec, status: head(ADAPTERS[kind]) | {"metadata": metadata, "spec": spec, "status": status},
        along_paths(kind, "spec"),
        along_paths(kind, "status"),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_no_object_is_an_error(kind: str) -> None:
    adapter = ADAPTERS[kind]

    @settings(max_examples=40, deadline=None, derandomize=True)
    @given(objects(kind), objects(kind))
    def check(one: Obj, other: Obj) -> None:
        original, mirror = as_object(one), as_object(other)
        adapter.read(original)
        demand = adapter.demand(original)
        assert all(pods.count >= 0 for pods in demand.pod_sets)
        adapter.pod_templates(original), adapter.references(original)
        body = adapter.mirror(original, PARAMETERS)
        assert adapter.read(as_object(body)).managed_by is None
        adapter.mirror_patch(original, mirror, PARAMETERS), adapter.original_patch(original, mirror)
        adapter.suspended_status(original, NOW), adapter.reduced_statuses(original, mirror)
        if (status := adapter.merged_status(original, mirror)) is not None:
            adapter.urgency(original, status)
            status_patch(one["status"] if isinstance(one["status"], dict) else {}, status)
            written = as_object(one | {"status": status})
            assert adapter.merged_status(written, mirror) is None

    check()
