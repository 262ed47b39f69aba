"""What is fuzzed: a parser, the errors that it may raise, and the words of its language."""

from __future__ import annotations

import contextlib
import pathlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

Check: TypeAlias = Callable[[bytes], object]
CORPUS: Final = pathlib.Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Target:
    """One parser.

    `opened` gives the function that is called with each input; what it needs lives as long as the context. `errors` are
    what it may raise. `words` are pieces of the language, for mutations. `generate` makes inputs with more structure
    than mutations can. `per_byte` and `at_least` bound the work for an input.
    """

    name: str
    opened: Callable[[], contextlib.AbstractContextManager[Check]]
    errors: tuple[type[Exception], ...] = ()
    words: Sequence[bytes] = ()
    generate: Callable[[random.Random], bytes] | None = None
    per_byte: int = 500
    at_least: int = 500_000

    def limit(self, data: bytes) -> int:
        return self.at_least + self.per_byte * len(data)

    def seeds(self) -> dict[str, bytes]:
        """The inputs of the corpus by file name."""
        return {path.name: path.read_bytes() for path in sorted((CORPUS / self.name).iterdir())}


def plain(check: Check) -> Callable[[], contextlib.AbstractContextManager[Check]]:
    """For a check that needs nothing."""

    @contextlib.contextmanager
    def opened() -> Iterator[Check]:
        yield check

    return opened
