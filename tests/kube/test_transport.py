from __future__ import annotations

from collections.abc import AsyncIterator

from jobrelay.kube import Headers, Request, Response


async def pieces(log: list[str]) -> AsyncIterator[bytes]:
    try:
        yield b"a"
        yield b"b"
    finally:
        log.append("closed")


def test_headers_ignore_case() -> None:
    headers = Headers({"Content-Type": "text/plain"})
    assert headers["content-type"] == headers.get("CONTENT-TYPE") == "text/plain"
    assert "Content-type" in headers


def test_repeated_headers_keep_all_values() -> None:
    headers = Headers([("Warning", "one"), ("warning", "two")])
    assert headers.get_all("Warning") == ["one", "two"]
    assert headers["warning"] == "one, two"


def test_request_prints_as_its_line() -> None:
    assert str(Request("GET", "/api/v1/pods?limit=1")) == "GET /api/v1/pods?limit=1"


async def test_bytes_bodies_can_be_read_or_walked() -> None:
    assert await Response(200, body=b"abc").read() == b"abc"
    assert [chunk async for chunk in Response(200, body=b"abc").chunks()] == [b"abc"]
    assert [chunk async for chunk in Response(200).chunks()] == []


async def test_reading_a_stream_to_its_end_closes_it() -> None:
    log: list[str] = []

    async def on_close() -> None:
        log.append("released")

    assert await Response(200, body=pieces(log), on_close=on_close).read() == b"ab"
    assert log == ["closed", "released"]


async def test_leaving_a_stream_half_read_closes_it_once() -> None:
    log: list[str] = []
    async with Response(200, body=pieces(log)) as response:
        assert await anext(response.chunks()) == b"a"
    await response.close()
    assert log == ["closed"]
