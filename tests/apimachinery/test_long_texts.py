"""Long texts: they are read in time that grows with their length, and numbers past 64 bits are just out of range."""

from __future__ import annotations

import time

import pytest

from jobrelay.apimachinery.cron import ScheduleError, check_schedule
from jobrelay.apimachinery.field import go_quote
from jobrelay.apimachinery.formats import FORMATS
from jobrelay.apimachinery.goint import read_int
from jobrelay.apimachinery.patch import PatchError, apply_json_patch

SHAPES = ("1", "0", "a", "1a", "1.", "a.", "a:", "a-", "1 ", " ", "a@", "(", '"', "<", "a,", "é", "==")


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_no_format_takes_quadratic_time(name: str) -> None:
    for shape in SHAPES:
        text = (shape * 100_000)[:100_000]
        start = time.process_time()
        FORMATS[name](text)
        assert time.process_time() - start < 2, shape  # a step for each pair of characters would take minutes


@pytest.mark.parametrize(
    ("text", "value"), [("0", 0), ("-0", 0), ("007", 7), ("-5", -5), ("+3", 3), ("0" * 5000 + "7", 7)]
)
def test_integers(text: str, value: int) -> None:
    assert read_int(text) == value


def test_integers_of_any_length_are_out_of_range() -> None:
    assert read_int("9" * 100_000) >= 2**64
    assert read_int("-" + "9" * 100_000) < -(2**63)
    with pytest.raises(ScheduleError, match="value out of range"):
        check_schedule(f"1-{'9' * 5000} * * * *")
    with pytest.raises(PatchError):
        apply_json_patch({"x": []}, [{"op": "test", "path": f"/x/{'9' * 5000}", "value": 1}])


def test_quotes() -> None:
    assert go_quote('a"b\\c\n\x01é\u200b') == '"a\\"b\\\\c\\n\\x01é\\u200b"'
