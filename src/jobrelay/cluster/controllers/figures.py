"""Figures of the controllers' work queues, under the names that kube-controller-manager gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from jobrelay.cluster.apiserver.exposition import Sample, family
from jobrelay.control import Controller, WorkQueue

Figures = Callable[[], Iterator[str]]


def queue_figures(controllers: Sequence[Controller[object]]) -> Iterator[str]:
    """How much each queue took in, holds, and had to try again."""

    def of(read: Callable[[WorkQueue[object]], int]) -> list[Sample]:
        return [("", {"name": each.name.replace(" ", "-")}, read(each.queue)) for each in controllers]

    yield from family("workqueue_adds_total", "counter", "Keys that were added.", of(lambda queue: queue.adds))
    yield from family("workqueue_depth", "gauge", "Keys that wait for a worker.", of(len))
    yield from family("workqueue_retries_total", "counter", "Keys that failed.", of(lambda queue: queue.retries))
