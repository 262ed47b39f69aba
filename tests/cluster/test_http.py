"""The API server on a socket: what the network adds to requests."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from jobrelay.cluster.apiserver import http
from jobrelay.cluster.apiserver.response import ApiResponse, Sink


class Silent:
    """A stream that notes what becomes of it."""

    def __init__(self) -> None:
        self.became: list[str] = []

    def start(self, sink: Sink) -> None:
        self.became.append("started")

    def stop(self) -> None:
        self.became.append("stopped")


async def test_a_watch_whose_client_has_left_before_it_began_ends_without_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def gone(self: web.StreamResponse, request: Any) -> None:
        raise ConnectionResetError("Cannot write to closing transport")

    monkeypatch.setattr(web.StreamResponse, "prepare", gone)
    stream = Silent()
    streams: dict[Any, Any] = {}
    await http._stream(make_mocked_request("GET", "/"), ApiResponse(200, stream=stream), streams)
    assert (stream.became, streams) == (["stopped"], {})
