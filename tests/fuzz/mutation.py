"""Changes of inputs: bytes, pieces, the target's own words, and parts of other inputs."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Final

LONGEST: Final = 8192
_NUMBERS: Final = (
    b"0", b"-1", b"1e999", b"-0.0", b"0.1e-9", b"255", b"65536", b"2147483648", b"9223372036854775807",
    b"9223372036854775808", b"18446744073709551616", b"1" * 40, b"9" * 400, b"9" * 5000, b"0x1f", b"1_000",
)  # fmt: skip
_BYTES: Final = (b"\0", b"\x7f", b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xef\xbb\xbf", "é😀١\u2028".encode(), b"\r\n")
_DIGITS: Final = re.compile(rb"\d+")
_WORD: Final = re.compile(rb"[A-Za-z_]\w*")


class Mutator:
    """Makes inputs of those that are known, all from one source of random numbers."""

    def __init__(self, source: random.Random, words: Sequence[bytes]) -> None:
        self._random, self._words = source, [*filter(None, words), *_NUMBERS, *_BYTES]
        self._changes: list[Callable[[bytes, bytes], bytes]] = [
            self._flip, self._delete, self._repeat, self._insert, self._insert, self._replace_number,
            self._replace_word, self._splice, self._swap, self._cut, self._nest,
        ]  # fmt: skip

    def mutated(self, data: bytes, other: bytes) -> bytes:
        """A changed input; `other` is another known one."""
        for _ in range(self._random.choice((1, 1, 1, 2, 3, 6))):
            data = self._random.choice(self._changes)(data, other)
        return data[:LONGEST]

    def pumped(self, data: bytes) -> tuple[bytes, bytes]:
        """The input with a part of it repeated often, and twice as often."""
        start, end = self._span(data, 24)
        part = data[start:end] or self._random.choice(self._words)
        count = LONGEST // 2 // len(part) + 1
        return (data[:start] + part * count + data[end:], data[:start] + part * 2 * count + data[end:])

    def _span(self, data: bytes, longest: int) -> tuple[int, int]:
        start = self._random.randint(0, len(data))
        return start, min(len(data), start + self._random.randint(1, longest))

    def _flip(self, data: bytes, other: bytes) -> bytes:
        start, end = self._span(data, 1)
        changed = bytes([data[start] ^ 1 << self._random.randrange(8)]) if start < end else b"\0"
        return data[:start] + changed + data[end:]

    def _delete(self, data: bytes, other: bytes) -> bytes:
        start, end = self._span(data, 16)
        return data[:start] + data[end:]

    def _repeat(self, data: bytes, other: bytes) -> bytes:
        start, end = self._span(data, 32)
        return data[:end] + data[start:end] * self._random.choice((1, 1, 2, 50)) + data[end:]

    def _insert(self, data: bytes, other: bytes) -> bytes:
        at = self._random.randint(0, len(data))
        return data[:at] + self._random.choice(self._words) + data[at:]

    def _replace_number(self, data: bytes, other: bytes) -> bytes:
        return self._replaced(data, _DIGITS, _NUMBERS)

    def _replace_word(self, data: bytes, other: bytes) -> bytes:
        return self._replaced(data, _WORD, self._words)

    def _replaced(self, data: bytes, pattern: re.Pattern[bytes], by: Sequence[bytes]) -> bytes:
        found = list(pattern.finditer(data))
        if not found:
            return self._insert(data, b"")
        chosen = self._random.choice(found)
        return data[: chosen.start()] + self._random.choice(by) + data[chosen.end() :]

    def _splice(self, data: bytes, other: bytes) -> bytes:
        start, end = self._span(other, 64)
        at = self._random.randint(0, len(data))
        return data[:at] + other[start:end] + data[at + self._random.choice((0, end - start)) :]

    def _swap(self, data: bytes, other: bytes) -> bytes:
        start, end = self._span(data, 16)
        middle = self._random.randint(start, end)
        return data[:start] + data[middle:end] + data[start:middle] + data[end:]

    def _cut(self, data: bytes, other: bytes) -> bytes:
        return data[: self._random.randint(0, len(data))]

    def _nest(self, data: bytes, other: bytes) -> bytes:
        opening, closing = self._random.choice(((b"[", b"]"), (b'{"a":', b"}"), (b"(", b")"), (b"- ", b"")))
        start, end = self._span(data, 64)
        depth = self._random.choice((1, 2, 40, 400))
        return data[:start] + opening * depth + data[start:end] + closing * depth + data[end:]
