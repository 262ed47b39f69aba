"""JSONPath as printer columns use it."""

from __future__ import annotations

from typing import Any

import pytest

from jobrelay.apimachinery import jsonpath

DATA: dict[str, Any] = {
    "metadata": {"labels": {"a.b/c": "v"}},
    "spec": {"list": ["x", "y", "z"], "map": {"k": 1}, "none": None},
    "status": {"conditions": [{"type": "Ready", "status": "True", "n": 2}, {"type": "Other", "n": 1, "reason": "r"}]},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.list[0]", ["x"]),
        (".spec.list[-1]", ["z"]),
        (".spec.list[*]", ["x", "y", "z"]),
        (".spec.list[1:]", ["y", "z"]),
        (".spec.list[0:3:2]", ["x", "z"]),
        (".spec.list[0,2]", ["x", "z"]),
        (".spec.none", [None]),
        (".spec.none[0]", []),
        (".spec.missing.deeper", []),
        (".spec.map.*", [1]),
        ("..k", [1]),
        ("$.spec.map['k']", [1]),
        (".metadata.labels['a\\.b/c']", ["v"]),
        (".metadata.labels.a\\.b/c", ["v"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type!='Ready')].type", ["Other"]),
        (".status.conditions[?(@.n>1)].type", ["Ready"]),
        (".status.conditions[?(@.reason)].type", ["Other"]),
    ],
)
def test_a_path_finds(path: str, found: list[Any]) -> None:
    assert jsonpath.parse(path).find(DATA) == found


@pytest.mark.parametrize(
    "path", [".spec.list[9]", ".spec.map[0]", ".spec.map[?(@.a)]", ".status.conditions[?(@.n=='1')]", "spec"]
)
def test_a_path_that_does_not_fit_the_data_is_an_error(path: str) -> None:
    with pytest.raises(jsonpath.PathError):
        jsonpath.parse(path).find(DATA)


@pytest.mark.parametrize("path", [".a[", ".a[x]", ".a[?(@.b", ".a....b", ".a['", "%"])
def test_a_malformed_path_is_refused(path: str) -> None:
    with pytest.raises(jsonpath.PathError):
        jsonpath.parse(path)
