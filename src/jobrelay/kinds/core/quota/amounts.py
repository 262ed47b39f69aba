"""Amounts of resources by name, with the arithmetic that quotas need."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Final

from jobrelay.apimachinery.quantity import Quantity, parse

Amounts = Mapping[str, Quantity]
ZERO: Final = Quantity(Fraction(0), "decimal")
ONE: Final = Quantity(Fraction(1), "decimal")


def parsed(texts: Mapping[str, str] | None) -> dict[str, Quantity]:
    return {name: parse(text) for name, text in (texts or {}).items()}


def as_texts(amounts: Amounts) -> dict[str, str]:
    return {name: str(amounts[name]) for name in sorted(amounts)}


def listed(amounts: Amounts) -> str:
    """As in refusals: `cpu=1,pods=2`."""
    return ",".join(f"{name}={text}" for name, text in as_texts(amounts).items())


def count(number: int) -> Quantity:
    return Quantity(Fraction(number), "decimal")


def add(left: Amounts, right: Amounts) -> dict[str, Quantity]:
    total = dict(left)
    for name, amount in right.items():
        total[name] = total[name] + amount if name in total else amount
    return total


def growth(new: Amounts, old: Amounts) -> dict[str, Quantity]:
    """How much more the new amounts are than the old ones; what does not grow is left out."""
    more = {name: amount - old.get(name, ZERO) for name, amount in new.items()}
    return {name: amount for name, amount in more.items() if amount.value > 0}


def only(amounts: Amounts, names: Collection[str]) -> dict[str, Quantity]:
    return {name: amount for name, amount in amounts.items() if name in names}


def equal(left: Mapping[str, str] | None, right: Mapping[str, str] | None) -> bool:
    """Whether two lists of resources have the same names and numbers."""
    ours, theirs = parsed(left), parsed(right)
    return ours.keys() == theirs.keys() and all(amount.value == theirs[name].value for name, amount in ours.items())
