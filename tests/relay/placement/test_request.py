from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrelay.relay.names import CLUSTER_SELECTOR, CLUSTERS, PREFERRED
from jobrelay.relay.placement import read_request


def test_requests_are_read_from_annotations() -> None:
    found = read_request(
        {CLUSTERS: "a, b,a", PREFERRED: "b", CLUSTER_SELECTOR: "zone=x"}, "a", {"b": "refused"}, seed="uid"
    )
    assert (found.pinned, found.preferred, str(found.selector)) == (("a", "b"), ("b",), "zone=x")
    assert (found.previous, found.excluded, found.seed, found.problem) == ("a", {"b": "refused"}, "uid", "")


def test_without_annotations_every_worker_will_do() -> None:
    found = read_request({CLUSTERS: " ", CLUSTER_SELECTOR: ""})
    assert (found.pinned, found.selector.empty, found.problem) == ((), True, "")


@pytest.mark.parametrize(
    ("annotation", "text", "problem"),
    [
        (CLUSTERS, "a b", "must be worker names separated by commas, 'a b' is not one"),
        (CLUSTERS, ",", "names no worker: ','"),
        (CLUSTER_SELECTOR, "zone in x", "is not a label selector: unable to parse requirement: found 'x'"),
    ],
)
def test_a_malformed_restriction_is_a_problem(annotation: str, text: str, problem: str) -> None:
    assert read_request({annotation: text}).problem.startswith(f"annotation {annotation} {problem}")


def test_a_malformed_preference_is_left_out_and_named() -> None:
    found = read_request({PREFERRED: "a,B!"})
    assert (found.preferred, found.problem) == ((), "")
    assert found.notes == (f"annotation {PREFERRED} must be worker names separated by commas, 'B!' is not one",)


@given(st.dictionaries(st.sampled_from([CLUSTERS, PREFERRED, CLUSTER_SELECTOR]), st.text()))
def test_no_annotation_is_ever_an_error(annotations: dict[str, str]) -> None:
    found = read_request(annotations)
    assert not found.problem or any(found.problem.startswith(f"annotation {name}") for name in annotations)
