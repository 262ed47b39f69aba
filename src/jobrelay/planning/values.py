"""Values as people write them in fleet files and traces."""

from __future__ import annotations

import functools
import math

from jobrelay.apimachinery import quantity
from jobrelay.apimachinery.times import TimeError, parse_duration


@functools.lru_cache(65_536)
def seconds(text: str) -> float:
    """Seconds as a number (`90`, `0.5`) or a duration (`15m`, `1h30m`); raises ValueError."""
    try:
        found = float(text)
    except ValueError:
        try:
            found = parse_duration(text) / 1e9
        except TimeError:
            raise ValueError(f"{text!r} is neither a number of seconds nor a duration such as 90s or 1h30m") from None
    if not 0 <= found < math.inf:
        raise ValueError(f"{text!r} is not a time from 0 on")
    return found


@functools.lru_cache(4096)
def amount(text: str) -> str:
    """A quantity that is not negative, as text (`500m`, `4Gi`); raises ValueError."""
    try:
        number = quantity.number(text)
    except quantity.QuantityError:
        raise ValueError(f"{text!r} is not a quantity such as 2, 500m or 4Gi") from None
    if number < 0:
        raise ValueError(f"{text!r} is negative")
    return text
