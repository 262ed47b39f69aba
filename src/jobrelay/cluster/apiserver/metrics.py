"""The metrics of the API server, under Kubernetes' names and labels where it has some.

The path of a request has only plain counters: it finds its counts, adds one to its code and one to its duration. The
rest (objects, open watches, the store) is read when somebody asks for the metrics.

Labels only have values that the server knows: a request for a resource or path that is not served is counted without
naming it, so that no client can make the number of series grow.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from jobrelay.cluster.apiserver.context import ServerContext
from jobrelay.cluster.apiserver.options import APPLY
from jobrelay.cluster.apiserver.request import ApiRequest, RequestInfo
from jobrelay.cluster.apiserver.watch import Watches
from jobrelay.kube.metrics import LatencyHistogram, MetricSample, exposition, family

if TYPE_CHECKING:
    from prometheus_client import Metric

BUCKETS: Final = (0.005, 0.025, 0.1, 0.4, 1.0, 5.0, 30.0)
_VERBS: Final = {
    "create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE", "deletecollection": "DELETE", "watch":
    "WATCH",
}  # fmt: skip
_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
_CONNECTS: Final = frozenset({"log", "exec", "portforward", "attach", "proxy"})
_PATHS: Final = frozenset(
    {"/healthz", "/livez", "/readyz", "/version", "/metrics", "/api", "/apis", "/openapi/v2", "/openapi/v3"}
)
_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class RequestLabels(NamedTuple):
    """What requests are counted by, apart from the code of the answer."""

    component: str
    dry_run: str
    group: str
    resource: str
    scope: str
    subresource: str
    verb: str
    version: str


class RequestCounts:
    """The requests with the same labels: how many by code, and how long they took."""

    __slots__ = ("codes", "durations")

    def __init__(self) -> None:
        self.codes: dict[int, int] = {}
        self.durations = LatencyHistogram(BUCKETS)


class Timed:
    """One request on its way; `code` is set when the answer is known."""

    __slots__ = ("_metrics", "_reading", "_request", "_start", "code")

    def __init__(self, metrics: ApiServerMetrics, request: ApiRequest) -> None:
        self._metrics, self._request = metrics, request
        self._reading = request.method in _READS
        self.code = 0

    def __enter__(self) -> Self:
        self._metrics.in_flight[self._reading] += 1
        self._start = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self._metrics.in_flight[self._reading] -= 1
        if self.code:  # else the client went away before there was an answer
            self._metrics.count(self._request, self.code, time.perf_counter() - self._start)


class ApiServerMetrics:
    """Counts requests, and collects the metrics of the server."""

    def __init__(self, services: ServerContext, watches: Watches) -> None:
        self._services, self._watches = services, watches
        self._series: dict[RequestLabels, RequestCounts] = {}
        self._common: dict[tuple[str | bool, ...], RequestCounts] = {}
        self.in_flight = {True: 0, False: 0}  # by whether they only read

    def timed(self, request: ApiRequest) -> Timed:
        return Timed(self, request)

    def count(self, request: ApiRequest, code: int, seconds: float) -> None:
        series = self._of(request, request.info)
        series.codes[code] = series.codes.get(code, 0) + 1
        series.durations.observe(seconds)

    def _of(self, request: ApiRequest, info: RequestInfo) -> RequestCounts:
        """The counts of requests like this one; for common requests they are found by what these have in common."""
        common = (
            info.verb,
            info.group,
            info.version,
            info.resource,
            info.subresource,
            not info.name,
            not info.namespace,
        )
        known = self._common.get(common) if not request.query else None
        served = self._services.resources.get(info.group, info.version, info.resource)
        if known is not None and served is not None and (info.verb != "patch" or not _applies(request)):
            return known
        key = self._key(request, info)
        series = self._series.setdefault(key, RequestCounts())
        if not request.query and key.component and key.verb != "APPLY" and key.subresource == info.subresource:
            self._common[common] = series
        return series

    def _key(self, request: ApiRequest, info: RequestInfo) -> RequestLabels:
        dry_run = ""
        if (asked := request.query.get("dryRun")) is not None:
            dry_run = "All" if all(value == "All" for value in asked) else "invalid"
        served = self._services.resources.get(info.group, info.version, info.resource) if info.resource else None
        if served is None:
            verb = "GET" if request.method == "HEAD" else request.method if request.method in _METHODS else "other"
            path = request.path.rstrip("/")
            return RequestLabels("", dry_run, "", "", "", path if path in _PATHS else "", verb, "")
        scope = "namespace" if info.namespace else "cluster"
        if info.name or info.selected or info.verb == "create":
            scope = "resource"
        subresource = info.subresource if info.subresource in served.subresources else ""
        if subresource in _CONNECTS:
            verb = "CONNECT"
        elif info.verb == "patch" and _applies(request):
            verb = "APPLY"
        else:
            verb = _VERBS.get(info.verb) or ("GET" if scope == "resource" else "LIST")
        return RequestLabels("apiserver", dry_run, info.group, info.resource, scope, subresource, verb, info.version)

    def text(self) -> bytes:
        """The metrics of the server and of what runs beside it, in Prometheus' text format."""
        return exposition([self, self._services.webhooks.metrics, *self._services.collectors])

    def collect(self) -> Iterator[Metric]:
        yield from self._requests()
        yield from self._now()
        yield from self._objects()
        yield from self._store()

    def _requests(self) -> Iterator[Metric]:
        series = sorted(self._series.items())
        counts: list[MetricSample] = []
        durations: list[MetricSample] = []
        for key, found in series:
            labels = key._asdict()
            counts += [("", {"code": str(code), **labels}, count) for code, count in sorted(found.codes.items())]
            durations += found.durations.samples(labels)
        meaning = "Answers by verb, dry run, resource, scope, component and code."
        yield family("apiserver_request_total", "counter", meaning, counts)
        meaning = "Seconds until the answer (until the first events of a watch)."
        yield family("apiserver_request_duration_seconds", "histogram", meaning, durations)

    def _now(self) -> Iterator[Metric]:
        kinds = (("mutating", self.in_flight[False]), ("readOnly", self.in_flight[True]))
        samples: list[MetricSample] = [("", {"request_kind": kind}, count) for kind, count in kinds]
        yield family("apiserver_current_inflight_requests", "gauge", "Requests that wait for their answer.", samples)
        watching = Counter((watch.served, watch.scope) for watch in self._watches.open)
        samples = []
        for (served, scope), count in watching.items():
            labels = {"component": "apiserver", "group": served.group, "resource": served.plural, "scope": scope}
            samples.append(("", {**labels, "subresource": "", "verb": "WATCH", "version": served.version}, count))
        yield family("apiserver_longrunning_requests", "gauge", "Watches that are open.", sorted(samples, key=str))
        samples = [
            ("", {"group": served.group, "resource": served.plural, "version": served.version}, count)
            for served, count in self._watches.delivered.items()
        ]
        yield family("apiserver_watch_events_total", "counter", "Events sent to watchers.", sorted(samples, key=str))

    def _objects(self) -> Iterator[Metric]:
        stored = sorted({served.key for served in self._services.resources if "list" in served.verbs})
        counted = [(key, self._services.store.count(key)) for key in stored]
        old: list[MetricSample] = [("", {"resource": key}, count) for key, count in counted]
        yield family("apiserver_storage_objects", "gauge", "Objects in the store.", old)
        new: list[MetricSample] = []
        for key, count in counted:
            plural, _, group = key.partition(".")
            new.append(("", {"group": group, "resource": plural}, count))
        yield family("apiserver_resource_objects", "gauge", "Objects in the store.", new)

    def _store(self) -> Iterator[Metric]:
        store = self._services.store
        version: list[MetricSample] = [("", {}, store.committed)]
        yield family("jobrelay_store_version", "gauge", "The newest resourceVersion.", version)
        sizes: list[MetricSample] = [("_sum", {}, store.writes), ("_count", {}, store.commits)]
        yield family("jobrelay_store_batch_size", "summary", "Writes that share a commit.", sizes)


def _applies(request: ApiRequest) -> bool:
    return request.header("content-type") == APPLY
