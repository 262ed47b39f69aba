"""A transport that counts the requests that pass through it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from jobrelay.kube import KubeError, Request, Response, Transport
from jobrelay.relay.metrics import RelayMetrics


class MeteredTransport:
    """Forwards requests and counts them by cluster, verb and status code."""

    def __init__(self, inner: Transport, cluster: str, metrics: RelayMetrics) -> None:
        self._inner, self._cluster, self._calls = inner, cluster, metrics.calls

    async def send(self, request: Request) -> Response:
        verb = "WATCH" if "watch=true" in request.path else request.method
        try:
            response = await self._inner.send(request)
        except KubeError:
            self._calls.labels(self._cluster, verb, "none").inc()
            raise
        self._calls.labels(self._cluster, verb, str(response.status)).inc()
        return response

    async def close(self) -> None:
        close: Callable[[], Awaitable[None]] | None = getattr(self._inner, "close", None)
        if close is not None:
            await close()
