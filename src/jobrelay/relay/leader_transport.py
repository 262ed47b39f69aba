"""A transport that sends writes only while this replica leads.

Between a decision and its request, and between two attempts of a request, any time may pass: a response may ask for a
pause, credentials may have to be fetched, the whole process may be stopped. So the lease is checked for every attempt,
and once more right before it is sent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from jobrelay.kube import KubeError, Request, Response, Transport


class NotLeading(KubeError):
    """A write was not sent, because this replica does not lead."""


class LeaderTransport:
    """Forwards requests to `inner`; raises NotLeading for a write while `leads` is false."""

    def __init__(self, inner: Transport, leads: Callable[[], bool]) -> None:
        self._inner, self._leads = inner, leads

    async def send(self, request: Request) -> Response:
        if request.method == "GET":
            return await self._inner.send(request)
        self._check()
        return await self._inner.send(request.guarded(self._check))

    def _check(self) -> None:
        if not self._leads():
            raise NotLeading("not sent: this replica does not lead")

    async def close(self) -> None:
        close: Callable[[], Awaitable[None]] | None = getattr(self._inner, "close", None)
        if close is not None:
            await close()
