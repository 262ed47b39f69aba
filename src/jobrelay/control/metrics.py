"""Metrics of what a manager runs, under the names of controller-runtime and client-go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from jobrelay.kube.cache import Cache
from jobrelay.kube.events import EventRecorder
from jobrelay.kube.metrics import MetricSample, family

from .controller import Controller, ControllerMetrics

if TYPE_CHECKING:
    from prometheus_client import Metric

__all__ = ["RunnablesCollector"]


class RunnablesCollector:
    """Collects the metrics of controllers, caches and event recorders among some runnables, such as a manager's."""

    def __init__(self, runnables: Callable[[], Iterable[object]]) -> None:
        self._runnables = runnables

    def collect(self) -> Iterator[Metric]:
        runnables = tuple(self._runnables())
        controllers = [each for each in runnables if isinstance(each, Controller)]
        yield from _of_queues(controllers)
        yield from _of_controllers(controllers)
        yield from _of_caches([each for each in runnables if isinstance(each, Cache)])
        recorders = [each for each in runnables if isinstance(each, EventRecorder)]
        dropped = [("", {"name": each.name}, each.dropped) for each in recorders]
        yield family("jobrelay_events_dropped_total", "counter", "Events that were not written.", dropped)


def _of_queues(controllers: list[Controller[Any]]) -> Iterator[Metric]:
    def each(read: Callable[[Controller[Any]], float]) -> list[MetricSample]:
        return [("", {"name": _label(one)}, read(one)) for one in controllers]

    yield family("workqueue_adds_total", "counter", "Keys that were added.", each(lambda one: one.queue.adds))
    yield family("workqueue_depth", "gauge", "Keys that wait for a worker.", each(lambda one: len(one.queue)))
    yield family("workqueue_retries_total", "counter", "Keys that failed.", each(lambda one: one.queue.retries))


def _of_controllers(controllers: list[Controller[Any]]) -> Iterator[Metric]:
    def each(read: Callable[[ControllerMetrics], float], **more: str) -> list[MetricSample]:
        return [("", {"controller": _label(one), **more}, read(one.metrics)) for one in controllers]

    prefix = "controller_runtime_"
    results = [
        *each(lambda one: one.succeeded - one.requeued, result="success"),
        *each(lambda one: one.requeued, result="requeue_after"),
        *each(lambda one: one.errors, result="error"),
    ]
    yield family(f"{prefix}reconcile_total", "counter", "Reconciles by result.", results)
    failed = each(lambda one: one.errors)
    yield family(f"{prefix}reconcile_errors_total", "counter", "Reconciles that failed.", failed)
    terminal = each(lambda one: one.terminal)
    yield family(f"{prefix}terminal_reconcile_errors_total", "counter", "Failures that are not retried.", terminal)
    yield family(f"{prefix}active_workers", "gauge", "Reconciles that run now.", each(lambda one: one.active))
    histograms = [(one.metrics.durations, {"controller": _label(one)}) for one in controllers]
    durations = [sample for histogram, labels in histograms for sample in histogram.samples(labels)]
    yield family(f"{prefix}reconcile_time_seconds", "histogram", "Seconds that reconciles took.", durations)


def _of_caches(caches: list[Cache]) -> Iterator[Metric]:
    def each(read: Callable[[Cache], float]) -> list[MetricSample]:
        return [("", {"name": str(one.resource), "namespace": one.namespace or ""}, read(one)) for one in caches]

    yield family(
        "reflector_lists_total", "counter", "Times that the whole state was read.", each(lambda one: one.lists)
    )
    yield family("reflector_watches_total", "counter", "Watches that ended.", each(lambda one: one.watches))
    yield family("reflector_items", "gauge", "Objects that are held.", each(len))


def _label(controller: Controller[Any]) -> str:
    return controller.name.replace(" ", "-")
