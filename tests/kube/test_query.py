from __future__ import annotations

from typing import Any

import pytest

from jobrelay.kube.query import query_parameters, with_query


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({}, "/p"),
        ({"label_selector": "a=b", "field_selector": ""}, "/p?labelSelector=a%3Db"),
        ({"follow": True, "previous": False}, "/p?follow=true"),
        ({"field_manager": "me", "dry_run": True}, "/p?fieldManager=me&dryRun=All"),
        ({"tail_lines": 0, "since_seconds": None}, "/p?tailLines=0"),
    ],
)
def test_options_have_the_names_of_the_api_and_are_left_out_when_unset(options: dict[str, Any], path: str) -> None:
    assert with_query("/p", query_parameters(options)) == path


def test_a_number_and_a_truth_value_are_different_parameters() -> None:
    assert [with_query("/p", {"x": value}) for value in (1, True, "1")] == ["/p?x=1", "/p?x=True", "/p?x=1"]
