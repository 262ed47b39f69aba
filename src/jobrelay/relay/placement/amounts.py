"""Amounts of resources as whole thousandths, and as people write them.

Placement compares the same few numbers thousands of times; integers are ten times as fast as fractions, and nothing below a
thousandth is kept in Kubernetes' resource lists anyway.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

__all__ = ["counted", "down", "of", "text", "up"]

_UNITS: Final = ((2**40, "Ti"), (2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki"))


def down(amount: Fraction) -> int:
    """What there is, in whole thousandths."""
    number, divisor = amount.as_integer_ratio()
    return number * 1000 // divisor


def up(amount: Fraction) -> int:
    """What is asked for, in whole thousandths."""
    return -(-amount.numerator * 1000 // amount.denominator)


def text(name: str, amount: int) -> str:
    """An amount of a resource: `2.5 cpu`, `1.5Gi memory`, `3 pods`."""
    return f"{_number(name, amount)} {name}"


def _number(name: str, amount: int) -> str:
    if name == "memory" or name.endswith("storage") or name.startswith("hugepages-"):
        for size, unit in _UNITS:
            if abs(amount) >= size * 1000:
                return _short(amount / size / 1000, 2) + unit
    return _short(amount / 1000, 3)


def _short(number: float, digits: int) -> str:
    shown = f"{number:.{digits}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def counted(count: int, what: str) -> str:
    """`1 pod`, `2 pods`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def of(name: str, free: int, has: int) -> str:
    """`2.5 of 8 cpu`."""
    return f"{_number(name, free)} of {text(name, has)}"
