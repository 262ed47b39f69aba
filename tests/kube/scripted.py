"""Transports for tests: one that plays a script, and one that is a very small API server."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

import msgspec

from jobrelay.kube import Request, Response

Step: TypeAlias = Response | Exception | Callable[[Request], Awaitable[Response]]
Json: TypeAlias = dict[str, Any]


def answer(body: Json, status: int = 200, **headers: str) -> Response:
    """A JSON answer."""
    return Response(
        status, {name.replace("_", "-"): value for name, value in headers.items()}, msgspec.json.encode(body)
    )


def refusal(code: int, reason: str = "", message: str = "", details: Json | None = None, **headers: str) -> Response:
    """A Status that says no."""
    status = {"kind": "Status", "status": "Failure", "message": message, "reason": reason, "code": code}
    return answer(status | ({"details": details} if details else {}), code, **headers)


def configmap(name: str = "a", version: str = "1", *, uid: str = "", namespace: str = "default", **data: str) -> Json:
    """A ConfigMap as a server would show it."""
    metadata = {"name": name, "namespace": namespace, "uid": uid or f"uid-{name}", "resourceVersion": version}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": data}


def event(kind: str, obj: Json) -> bytes:
    """One line of a watch."""
    return msgspec.json.encode({"type": kind, "object": obj}) + b"\n"


def bookmark(version: str, *, initial_end: bool = False) -> bytes:
    """A bookmark, possibly the one that ends the initial events."""
    annotations = {"k8s.io/initial-events-end": "true"} if initial_end else {}
    metadata = {"resourceVersion": version, "annotations": annotations}
    return event("BOOKMARK", {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata})


class Stream:
    """A watch that the test feeds by hand."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        self.closed = False
        for chunk in chunks:
            self.send(chunk)

    def send(self, chunk: bytes) -> None:
        self._chunks.put_nowait(chunk)

    def fail(self, error: Exception) -> None:
        self._chunks.put_nowait(error)

    def end(self) -> Stream:
        self._chunks.put_nowait(None)
        return self

    @property
    def response(self) -> Response:
        return Response(200, {}, self._read())

    async def _read(self) -> AsyncIterator[bytes]:
        try:
            while (chunk := await self._chunks.get()) is not None:
                if isinstance(chunk, Exception):
                    raise chunk
                yield chunk
        finally:
            self.closed = True


class ScriptedTransport:
    """Answers requests with the steps of a script, in order; when the script is over it hangs."""

    def __init__(self, *steps: Step) -> None:
        self.steps = deque(steps)
        self.requests: list[Request] = []

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        if not self.steps:
            await asyncio.get_running_loop().create_future()
        step = self.steps.popleft()
        if isinstance(step, Exception):
            raise step
        return step if isinstance(step, Response) else await step(request)

    @property
    def last(self) -> Request:
        return self.requests[-1]

    def query(self, index: int = -1) -> dict[str, str]:
        """The query of a request, each parameter once."""
        parsed = parse_qs(urlsplit(self.requests[index].path).query)
        return {name: values[0] for name, values in parsed.items()}

    def body(self, index: int = -1) -> Any:
        """The decoded body of a request."""
        return msgspec.json.decode(self.requests[index].body or b"null")
