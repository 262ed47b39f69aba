"""Amounts of resources as integers in thousandths of the base unit, and as text.

Placement compares the same few numbers thousands of times. Integers are ten times as fast as fractions, and
Kubernetes keeps nothing below a thousandth in resource lists.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

_UNITS: Final = ((2**40, "Ti"), (2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki"))


def floor_milli(amount: Fraction) -> int:
    """An available amount in thousandths, rounded down."""
    number, divisor = amount.as_integer_ratio()
    return number * 1000 // divisor


def ceil_milli(amount: Fraction) -> int:
    """A requested amount in thousandths, rounded up."""
    return -(-amount.numerator * 1000 // amount.denominator)


def format_amount(name: str, amount: int) -> str:
    """An amount of a resource: `2.5 cpu`, `1.5Gi memory`, `3 pods`."""
    return f"{_number(name, amount)} {name}"


def _number(name: str, amount: int) -> str:
    if name == "memory" or name.endswith("storage") or name.startswith("hugepages-"):
        for size, unit in _UNITS:
            if abs(amount) >= size * 1000:
                return _rounded(amount / size / 1000, 2) + unit
    return _rounded(amount / 1000, 3)


def _rounded(number: float, digits: int) -> str:
    shown = f"{number:.{digits}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def count_of(count: int, noun: str) -> str:
    """`1 pod`, `2 pods`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def format_free(name: str, free: int, allocatable: int) -> str:
    """`2.5 of 8 cpu`."""
    return f"{_number(name, free)} of {format_amount(name, allocatable)}"
