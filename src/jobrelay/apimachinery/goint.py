"""Integers from texts of any length. Python refuses to read more than 4,300 digits, and takes long for those."""

from __future__ import annotations

from typing import Final

_DIGITS: Final = 20  # of the largest 64-bit number


def read_int(text: str) -> int:
    """The integer that decimal digits write; for more than 64 bits can hold, one that is out of their range."""
    digits = text.lstrip("+-").lstrip("0") or "0"
    value = int(digits) if len(digits) <= _DIGITS else 2**65
    return -value if text[0] == "-" else value
