"""Quantities (`100m`, `1.5Gi`, `1e3`): parse, compare, and the canonical text that the server writes back.

The canonical form keeps the family of suffix that was given (decimal, binary or exponent), has no fraction, and uses
the largest suffix that leaves a whole number. Nothing below one nano is kept: it is rounded up.
"""

from __future__ import annotations

import functools
import re
from fractions import Fraction
from typing import Final

from jobrelay.apimachinery.goint import read_int

_PATTERN = re.compile(r"([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i)?)", re.ASCII)
_SHAPE = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)[eEinumkKMGTP]*[-+]?\d*", re.ASCII)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_NAMES: Final = {power: suffix for suffix, power in _DECIMAL.items()}
_LONGEST: Final = 4000  # digits; whatever is longer would only cost time
_NANO: Final = Fraction(1, 10**9)
FORMAT_WRONG: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX_WRONG: Final = "unable to parse quantity's suffix"


class QuantityError(ValueError):
    """A text that is not a quantity; its message is Kubernetes'."""


class Quantity:
    """A number and the family of suffix it is written in."""

    __slots__ = ("format", "value")

    def __init__(self, value: Fraction, format: str) -> None:
        self.value, self.format = value, format

    def __add__(self, other: Quantity) -> Quantity:
        """The sum, written as the first one; zero is written as the other."""
        return Quantity(self.value + other.value, self.format if self.value else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.value - other.value, self.format if self.value else other.format)

    def __str__(self) -> str:
        if self.value == 0:
            return "0"
        if self.format == "binary" and (abs(self.value) < 1024 or self.value.denominator != 1):
            return _decimal_text(self.value, exponent=False)
        if self.format == "binary":
            return _binary_text(self.value)
        return _decimal_text(self.value, exponent=self.format == "exponent")


@functools.lru_cache(4096)
def parse(text: str) -> Quantity:
    """Parses a quantity; raises QuantityError with the server's error text."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise QuantityError(SUFFIX_WRONG if _SHAPE.fullmatch(text) else FORMAT_WRONG)
    sign, digits, exponent, suffix = match.groups()
    power = read_int(exponent[1:]) if exponent else 0
    if len(digits) > _LONGEST or power > _LONGEST:
        raise QuantityError(FORMAT_WRONG)
    number = Fraction(digits if not digits.endswith(".") else digits + "0")
    if power < -_LONGEST:
        number, family = (_NANO if number else number), "exponent"
    elif exponent:
        number, family = number * Fraction(10) ** power, "exponent"
    elif suffix in _BINARY:
        number, family = number * 2 ** _BINARY[suffix], "binary"
    else:
        number, family = number * Fraction(10) ** _DECIMAL[suffix or ""], "decimal"
    if number.denominator > 10**9 or (number / _NANO).denominator != 1:
        number = Fraction(-(-number // _NANO)) * _NANO
    number = min(number, Fraction(2**63 - 1)) if family == "binary" else number
    return Quantity(-number if sign == "-" else number, family)


@functools.lru_cache(4096)
def canonical(text: str) -> str:
    return str(parse(text))


def number(text: str) -> Fraction:
    """The exact number of a quantity."""
    return parse(text).value


def _binary_text(value: Fraction) -> str:
    count, suffix = int(value), ""
    for name in _BINARY:
        if count % 1024:
            break
        count, suffix = count // 1024, name
    return f"{count}{suffix}"


def _decimal_text(value: Fraction, *, exponent: bool) -> str:
    power = -9
    count = int(value / _NANO)
    while count % 1000 == 0 and (exponent or power < 18):
        count, power = count // 1000, power + 3
    if exponent:
        return f"{count}e{power}" if power else str(count)
    return f"{count}{_DECIMAL_NAMES[power]}"
