"""The metrics of webhooks, under Kubernetes' names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from jobrelay.kube.metrics import LatencyHistogram, MetricSample, family

if TYPE_CHECKING:
    from prometheus_client import Metric

_BUCKETS: Final = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0)
_PREFIX: Final = "apiserver_admission_webhook"
_LAST_CODE: Final = 600  # larger ones are counted as this one


class CallLabels(NamedTuple):
    """What calls are counted by: the webhook's name, `admit` or `validating`, and the operation."""

    name: str
    type: str
    operation: str


class WebhookMetrics:
    """Counts calls of webhooks and how they end."""

    def __init__(self) -> None:
        self._durations: dict[tuple[CallLabels, bool], LatencyHistogram] = {}
        self._requests: Counter[tuple[CallLabels, bool, int]] = Counter()
        self._rejections: Counter[tuple[CallLabels, str, int]] = Counter()
        self._failed_open: Counter[tuple[str, str]] = Counter()

    def observe(self, labels: CallLabels, seconds: float, code: int, rejection: str) -> None:
        """Counts a call; `rejection` is Kubernetes' error type if the request was refused for it."""
        rejected, code = bool(rejection), min(code, _LAST_CODE)
        durations = self._durations.get((labels, rejected))
        if durations is None:
            durations = self._durations[labels, rejected] = LatencyHistogram(_BUCKETS)
        durations.observe(seconds)
        self._requests[labels, rejected, code] += 1
        if rejected:
            self._rejections[labels, rejection, code] += 1

    def failed_open(self, name: str, type_: str) -> None:
        self._failed_open[name, type_] += 1

    def collect(self) -> Iterator[Metric]:
        durations: list[MetricSample] = []
        for (labels, rejected), found in sorted(self._durations.items(), key=lambda entry: entry[0]):
            durations += found.samples({**labels._asdict(), "rejected": _flag(rejected)})
        meaning = "Seconds that calls of webhooks took."
        yield family(f"{_PREFIX}_admission_duration_seconds", "histogram", meaning, durations)
        requests: list[MetricSample] = [
            ("", {**labels._asdict(), "code": str(code), "rejected": _flag(rejected)}, count)
            for (labels, rejected, code), count in sorted(self._requests.items())
        ]
        yield family(f"{_PREFIX}_request_total", "counter", "Calls of webhooks by code.", requests)
        rejections: list[MetricSample] = [
            ("", {**labels._asdict(), "error_type": error, "rejection_code": str(code)}, count)
            for (labels, error, code), count in sorted(self._rejections.items())
        ]
        yield family(f"{_PREFIX}_rejection_count", "gauge", "Requests refused because of a webhook.", rejections)
        opened: list[MetricSample] = [
            ("", {"name": name, "type": type_}, count) for (name, type_), count in sorted(self._failed_open.items())
        ]
        yield family(f"{_PREFIX}_fail_open_count", "gauge", "Failed calls that were ignored.", opened)


def _flag(value: bool) -> str:
    return str(value).lower()
