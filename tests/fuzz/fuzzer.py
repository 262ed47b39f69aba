"""Runs a target on many inputs. Inputs that take new branches are kept and changed further."""

from __future__ import annotations

import hashlib
import random
import resource
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from .mutation import Mutator
from .target import Check, Target
from .tracing import TooMuch, Tracer

_GROWTH: Final = 3  # at most, when an input becomes twice as long
_NOISE: Final = 20_000  # lines of work that growth is not judged by
_MEMORY: Final = 512 * 1024  # KiB that one input may add to what the process has ever needed
_PUMPED: Final = 0.02  # of all inputs
_GENERATED: Final = 0.3  # of all inputs, where the target can generate them


@dataclass
class Finding(Exception):
    """An input that does what none may do."""

    target: str
    data: bytes
    what: str

    def __str__(self) -> str:
        return f"{self.target}: {self.what}\ninput: {self.data[:2000]!r}"

    @property
    def name(self) -> str:
        return f"finding-{hashlib.sha256(self.data).hexdigest()[:12]}"


class Runner:
    """One target that is open, and what is known of its branches."""

    def __init__(self, target: Target, check: Check) -> None:
        self.target, self._check = target, check
        self._tracer = Tracer()

    def run(self, data: bytes) -> bool:
        """Whether the input takes a new branch; raises Finding."""
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            with self._tracer.tracing(self.target.limit(data)):
                self._check(data)
        except self.target.errors:
            pass
        except (Exception, TooMuch) as error:
            raise Finding(self.target.name, data, "".join(traceback.format_exception(error)[-12:])) from None
        if (grown := resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) > _MEMORY:
            raise Finding(self.target.name, data, f"it took {grown // 1024} MiB of memory")
        return self._tracer.fresh > 0

    def compare(self, single: bytes, double: bytes) -> None:
        """Raises Finding if the work for the longer input, which is twice as long, is out of proportion."""
        self.run(single)
        work = self._tracer.work
        self.run(double)
        if self._tracer.work > _GROWTH * work + _NOISE:
            what = f"{len(single)} bytes took {work} lines, {len(double)} bytes {self._tracer.work}"
            raise Finding(self.target.name, double, what)


class Fuzzer:
    """A run from one seed: the same seed and number of inputs give the same inputs."""

    def __init__(self, target: Target, check: Check, seed: int) -> None:
        self._random = random.Random(f"{target.name} {seed}")
        self._runner = Runner(target, check)
        self._mutator = Mutator(self._random, target.words)
        self._target = target
        self.known = list(target.seeds().values())
        self.count = 0

    def replay(self) -> None:
        """Runs the corpus, so that its branches are known."""
        for data in self.known:
            self._runner.run(data)

    def run(self, going_on: Callable[[], bool]) -> None:
        """Runs new inputs while `going_on` says so; raises Finding."""
        while going_on():
            self.count += 1
            if self._random.random() < _PUMPED:
                self._runner.compare(*self._mutator.pumped(self._chosen()))
                continue
            data = self._next()
            if self._runner.run(data):
                self.known.append(data)

    def _chosen(self) -> bytes:
        """A known input; those that were found last more often."""
        recent = self.known[-20:] if self._random.random() < 0.3 else self.known
        return self._random.choice(recent)

    def _next(self) -> bytes:
        if self._target.generate is not None and self._random.random() < _GENERATED:
            return self._target.generate(self._random)
        return self._mutator.mutated(self._chosen(), self._random.choice(self.known))


def for_seconds(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end


def for_inputs(count: int) -> Callable[[], bool]:
    left = iter(range(count))
    return lambda: next(left, None) is not None
