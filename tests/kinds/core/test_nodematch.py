from __future__ import annotations

from typing import Any

import pytest

from jobrelay.kinds.core.nodematch import matches, preference, tolerated, untolerated

LABELS = {"zone": "x", "cores": "8"}
TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("key", "operator", "values", "expected"),
    [
        ("zone", "In", ["x", "y"], True),
        ("zone", "In", ["y"], False),
        ("zone", "NotIn", ["y"], True),
        ("other", "NotIn", ["y"], True),
        ("zone", "Exists", [], True),
        ("other", "Exists", [], False),
        ("other", "DoesNotExist", [], True),
        ("cores", "Gt", ["4"], True),
        ("cores", "Lt", ["4"], False),
        ("zone", "Gt", ["4"], False),
        ("cores", "Gt", [], False),
        ("cores", "Like", ["8"], False),
    ],
)
def test_operators(key: str, operator: str, values: list[str], expected: bool) -> None:
    term = {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    assert matches((), required, "n", LABELS) is expected


def test_one_term_is_enough_and_an_empty_one_matches_nothing() -> None:
    fits = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
    cases: list[tuple[list[dict[str, Any]], bool]] = [([{}], False), ([{}, fits], True), ([], False)]
    for terms, expected in cases:
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        assert matches((), required, "n", LABELS) is expected


def test_a_selector_must_match_whole() -> None:
    assert matches([("zone", "x"), ("cores", "8")], None, "n", LABELS)
    assert not matches([("zone", "x"), ("other", "")], None, "n", LABELS)


def test_preferred_terms_add_their_weights() -> None:
    terms = [
        {"weight": weight, "preference": {"matchExpressions": [{"key": key, "operator": "Exists"}]}}
        for weight, key in [(5, "zone"), (3, "cores"), (70, "other")]
    ]
    assert preference({"preferredDuringSchedulingIgnoredDuringExecution": terms}, "n", LABELS) == 8


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "k", "operator": "Exists"}, True),
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "value": "w"}, False),
        ({"key": "j", "operator": "Exists"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
    ],
)
def test_tolerations(toleration: dict[str, Any], expected: bool) -> None:
    assert tolerated(TAINT, [toleration]) is expected


def test_only_taints_that_keep_pods_away_count() -> None:
    soft = {"key": "s", "effect": "PreferNoSchedule"}
    assert untolerated([soft], []) is None
    assert untolerated([soft, TAINT], []) is TAINT
