"""The event stream: changes are told as they come, a log as text, and why there is none yet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from jobrelay.kube import Client
from jobrelay.relay.api.names import BASE
from jobrelay.web.streaming import version_of
from tests.web.browsing import CannedApi, Elements, browsing, canned

LOG = f"{BASE}/namespaces/default/workloads/job:train/log"
ONE = LOG.removesuffix("/log")
ENDED = {ONE: {"status": {"stage": "Finished"}}}
NOT_STARTED = {
    "kind": "Status", "code": 400, "reason": "BadRequest", "message": "no worker runs it yet",
    "details": {"causes": [{"reason": "NotStarted"}]},
}  # fmt: skip


async def following(events: AsyncIterator[tuple[str, Any]]) -> tuple[str, Any]:
    async with asyncio.timeout(30):
        return await anext(events)


async def test_each_change_is_an_event() -> None:
    api = CannedApi(canned())
    async with browsing(Client(api)) as browser, browser.stream("/stream") as events:
        api.change("8")
        assert await following(events) == ("changed", "8")
        api.change("9")
        assert await following(events) == ("changed", "9")
    assert (f"{BASE}/activity", {"watch": "true"}) in api.asked


async def test_a_log_is_sent_as_text_and_its_end_is_told() -> None:
    api = CannedApi(canned() | ENDED | {LOG: "<b>\n\nevent: log\ndata: Grüße".encode()})
    async with browsing(Client(api)) as browser, browser.stream("/stream?log=default/job:train") as events:
        assert await following(events) == ("begins", "")
        assert await following(events) == ("log", "<b>\n\nevent: log\ndata: Grüße")
        assert await following(events) == ("ended", "")
    assert (LOG, {"prefix": "true", "follow": "true", "tailLines": "2000"}) in api.asked


async def test_a_log_that_has_not_begun_is_tried_again_after_a_change() -> None:
    api = CannedApi(canned() | ENDED | {LOG: NOT_STARTED})
    async with browsing(Client(api)) as browser, browser.stream("/stream?log=default/job:train") as events:
        name, text = await following(events)
        assert (name, "no worker runs it yet" in text) == ("waits", True)
        api.answers[LOG] = b"hello\n"
        api.change()
        assert [await following(events) for _ in range(4)] == [
            ("changed", ""), ("begins", ""), ("log", "hello\n"), ("ended", ""),
        ]  # fmt: skip


async def test_after_a_run_that_was_not_the_last_the_log_of_the_next_one_follows() -> None:
    api = CannedApi(canned() | {LOG: b"first\n"})
    async with browsing(Client(api)) as browser, browser.stream("/stream?log=default/job:train") as events:
        assert [await following(events) for _ in range(2)] == [("begins", ""), ("log", "first\n")]
        await api.wait_asked(ONE)
        api.answers |= ENDED | {LOG: b"second\n"}
        api.change()
        later = [await following(events) for _ in range(4)]
    assert later == [("changed", ""), ("begins", ""), ("log", "second\n"), ("ended", "")]


async def test_a_stream_of_what_may_not_be_seen_ends() -> None:
    refused = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "not you"}
    api = CannedApi(canned() | {LOG: refused})
    async with browsing(Client(api)) as browser, browser.stream("/stream?log=default/job:train") as events:
        async with asyncio.timeout(30):
            assert [each async for each in events] == []


@pytest.mark.parametrize("path", ["/", "/workloads", "/workers"])
async def test_a_page_says_of_which_version_it_is(path: str) -> None:
    async with browsing(Client(CannedApi(canned()))) as browser:
        page = Elements((await browser.get(path)).text)
    assert [each["data-version"] for each in page.all("body")] == ["7"]


@pytest.mark.parametrize(
    ("events", "version"),
    [(b'{"object":{"metadata":{"resourceVersion":"3"}}}\n', "3"), (b"{}\n", ""), (b"\xff", ""), (b"", ""),
     (b'{"object":{}}\n{"object":{"metadata":{"resourceVersion":"5"}}}\n', "5"), (b'{"object":1}', "")],
)  # fmt: skip
def test_versions_are_read_from_whatever_a_watch_sends(events: bytes, version: str) -> None:
    assert version_of(events) == version
