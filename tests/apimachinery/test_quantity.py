"""Quantities whose digits would take for ever."""

from __future__ import annotations

import pytest

from jobrelay.apimachinery.quantity import QuantityError, canonical


@pytest.mark.parametrize(
    ("text", "shown"),
    [("1e300", "1e300"), ("1e99", "1e99"), ("1e-999999999", "1e-9"), ("0e-99999", "0"), ("1500e0", "1500")],
)
def test_exponents_are_kept(text: str, shown: str) -> None:
    assert canonical(text) == shown


@pytest.mark.parametrize("text", ["1e999999999", "1E0000001000000000", "1" + "0" * 100_000, "0." + "0" * 100_000 + "1"])
def test_absurd_quantities_are_refused_at_once(text: str) -> None:
    with pytest.raises(QuantityError):
        canonical(text)
