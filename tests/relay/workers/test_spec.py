from __future__ import annotations

from fractions import Fraction

import pytest

from jobrelay.relay.model import State
from jobrelay.relay.names import COST, STATE, WEIGHT
from jobrelay.relay.workers.spec import parse_worker_annotations


def test_what_is_not_annotated_has_defaults() -> None:
    assert parse_worker_annotations({}) == (State.OPEN, Fraction(0), Fraction(1), ())


def test_annotations_are_read() -> None:
    found = parse_worker_annotations({STATE: "draining", COST: "0.25", WEIGHT: "3"})
    assert found == (State.DRAINING, Fraction(1, 4), Fraction(3), ())


@pytest.mark.parametrize("text", ["-1", "many", "1e400000", "1/0", "nan", "9" * 1000])
def test_numbers_that_make_no_sense_are_remarked_on(text: str) -> None:
    _, cost, _, remarks = parse_worker_annotations({COST: text})
    assert cost == 0
    assert len(remarks) == 1
    assert COST in remarks[0]


def test_a_state_that_nobody_knows_takes_nothing_new() -> None:
    state, _, _, remarks = parse_worker_annotations({STATE: "cordonned"})
    assert state is State.CORDONED
    assert "'cordonned'" in remarks[0]
