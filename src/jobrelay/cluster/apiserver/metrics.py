"""The server's own figures, in Prometheus' text form and under Kubernetes' names."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.services import Services
from jobrelay.cluster.apiserver.watch import Watches

Labels = tuple[str, str, str, str, str, str, int]


class Outcome:
    code = 500


class Metrics:
    """Plain counters in the hot path; text is made only when somebody asks."""

    def __init__(self, services: Services, watches: Watches) -> None:
        self._services, self._watches = services, watches
        self._requests: Counter[Labels] = Counter()
        self._seconds: Counter[tuple[str, str]] = Counter()

    @contextmanager
    def timed(self, request: ApiRequest) -> Iterator[Outcome]:
        outcome, start = Outcome(), time.perf_counter()
        yield outcome
        info = request.info
        verb = info.verb.upper()
        scope = "resource" if info.name else ("namespace" if info.namespace else "cluster")
        self._requests[verb, info.group, info.version, info.resource, info.subresource, scope, outcome.code] += 1
        self._seconds[verb, info.resource] += time.perf_counter() - start  # type: ignore[assignment]

    def text(self) -> str:
        lines = ["# TYPE apiserver_request_total counter"]
        for (verb, group, version, resource, subresource, scope, code), count in sorted(self._requests.items()):
            labels = (
                f'code="{code}",group="{group}",resource="{resource}",scope="{scope}",subresource="{subresource}",'
                f'verb="{verb}",version="{version}"'
            )
            lines.append(f"apiserver_request_total{{{labels}}} {count}")
        return "\n".join(lines) + "\n"
