"""Metrics for Prometheus from plain counters.

Code that is called for every request or reconcile counts in plain integers. A collector, an object whose `collect`
makes prometheus_client's metric families of them, reads these when somebody asks. The library takes about 20 ms to
import, so that is put off until then.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from prometheus_client import Metric

__all__ = ["LatencyHistogram", "MetricCollector", "MetricSample", "exposition", "family"]

MetricSample = tuple[str, Mapping[str, str], float]
"""What follows the family's name (such as `_sum`), the labels, the value."""


class MetricCollector(Protocol):
    """What prometheus_client takes as a collector."""

    def collect(self) -> Iterable[Metric]:
        """The present metrics."""
        ...


class LatencyHistogram:
    """Counts durations by upper bounds in seconds."""

    __slots__ = ("_bounds", "_counts", "_seconds")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds, self._counts, self._seconds = bounds, [0] * (len(bounds) + 1), 0.0

    def observe(self, seconds: float) -> None:
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self._seconds += seconds

    def samples(self, labels: Mapping[str, str]) -> Iterator[MetricSample]:
        """The samples of a histogram family."""
        total = 0
        for bound, count in zip((*(f"{each:g}" for each in self._bounds), "+Inf"), self._counts, strict=True):
            total += count
            yield "_bucket", {**labels, "le": bound}, total
        yield "_sum", labels, self._seconds
        yield "_count", labels, total


def family(name: str, kind: str, documentation: str, samples: Iterable[MetricSample]) -> Metric:
    """A metric family; `kind` is counter, gauge, histogram or summary."""
    from prometheus_client import Metric

    made = Metric(name.removesuffix("_total") if kind == "counter" else name, documentation, kind)
    for suffix, labels, value in samples:
        made.add_sample(name + suffix, dict(labels), value)
    return made


def exposition(collectors: Iterable[MetricCollector]) -> bytes:
    """The metrics of some collectors and of this process in Prometheus' text format."""
    from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

    registry = CollectorRegistry()
    for each in collectors:
        registry.register(each)
    ProcessCollector(registry=registry)
    return generate_latest(registry)
