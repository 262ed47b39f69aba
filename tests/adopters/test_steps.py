"""What counts as shown step by step."""

from __future__ import annotations

from .steps import invented, without_nulls

A, B, C = {"phase": "A"}, {"phase": "B"}, {"phase": "C"}


def test_steps_may_be_left_out() -> None:
    assert invented([A, C], [A, B, C]) is None


def test_a_step_that_no_mirror_had_is_invented() -> None:
    assert invented([A, B, C], [A, C]) == B


def test_steps_in_another_order_are_invented() -> None:
    assert invented([B, A], [A, B]) == A


def test_a_step_may_come_back() -> None:
    assert invented([A, B, A], [A, B, A]) is None


def test_nulls_are_left_out_at_any_depth() -> None:
    assert without_nulls({"a": None, "b": [{"c": None, "d": 1}]}) == {"b": [{"d": 1}]}
