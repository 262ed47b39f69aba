"""Amounts of resources as integers: thousandths for `cpu`, units for everything else, rounded up as Kubernetes does.

An amount that does not fit into 64 bits is `UNLIMITED`.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Final

from jobrelay.apimachinery.quantity import Quantity, number

UNLIMITED: Final = 2**63 - 1


@functools.lru_cache(16384)
def amount(resource: str, quantity: str) -> int:
    """The amount that a quantity's text means."""
    exact = number(quantity)
    return min(UNLIMITED, math.ceil(exact * 1000 if resource == "cpu" else exact))


@functools.lru_cache(16384)
def format_amount(resource: str, value: int) -> str:
    """The quantity of an amount, as Kueue writes it in messages and in a status."""
    if resource == "cpu":
        return str(Quantity(Fraction(value, 1000), "decimal"))
    binary = resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-")
    return str(Quantity(Fraction(value), "binary" if binary and value % 1024 == 0 else "decimal"))
