"""Which branches of our code an input takes, and how much work it is.

A branch is a pair of lines of one function that were executed one after the other. Work is the number of executed lines
of `src/jobrelay`: it depends on nothing but the input. What C code does is not seen; a timer bounds that.
"""

from __future__ import annotations

import contextlib
import pathlib
import signal
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, Final

import jobrelay

SOURCES: Final = str(pathlib.Path(jobrelay.__file__).parent)
CPU_SECONDS: Final = 10  # for one input; far more than any needs
SECONDS: Final = 60


class TooMuch(BaseException):
    """An input that costs too much. No `except Exception` of the code under test catches it."""


class Tracer:
    """Records branches over many runs; `work` and `fresh` are those of the last one."""

    def __init__(self) -> None:
        self.work = self.fresh = 0
        self._limit = 0
        self._branches: dict[int, tuple[CodeType, set[int] | None]] = {}

    @contextlib.contextmanager
    def tracing(self, limit: int) -> Iterator[None]:
        """Traces what is done inside; raises TooMuch past a limit of work or time."""
        self.work, self.fresh, self._limit = 0, 0, limit
        before = sys.gettrace()
        with _alarm():
            sys.settrace(self._enter)
            try:
                yield
            finally:
                sys.settrace(before)

    def _enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        known = self._branches.get(id(code))
        if known is None:
            ours = code.co_filename.startswith(SOURCES)
            known = self._branches[id(code)] = (code, set() if ours else None)
        return None if known[1] is None else self._stepper(known[1])

    def _stepper(self, branches: set[int]) -> Any:
        previous = 0

        def step(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal previous
            line = frame.f_lineno
            branch = previous << 16 | line
            previous = line
            self.work += 1
            if branch not in branches:
                branches.add(branch)
                self.fresh += 1
            if self.work > self._limit:
                raise TooMuch(f"more than {self._limit} lines were executed")
            return step

        return step


@contextlib.contextmanager
def untraced() -> Iterator[None]:
    """What is done inside is no work of the input, such as setting up what it is given to."""
    before = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(before)


@contextlib.contextmanager
def _alarm() -> Iterator[None]:
    def late(number: int, frame: FrameType | None) -> None:
        waited = number == signal.SIGALRM
        raise TooMuch(f"it took more than {SECONDS if waited else CPU_SECONDS} seconds{'' if waited else ' of work'}")

    before = {number: signal.signal(number, late) for number in (signal.SIGALRM, signal.SIGPROF)}
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
