"""Who gets in: the token of the URL, the cookie, the host; and that pages of other sites get nothing."""

from __future__ import annotations

import pytest

from jobrelay.kube import Client
from tests.web.browsing import CannedApi, browsing, canned


async def test_the_printed_url_opens_the_dashboard_and_leaves_no_token_in_the_address() -> None:
    async with browsing(Client(CannedApi(canned())), opened=False) as browser:
        first = await browser.get(f"{browser.url.path_qs}&namespace=default")
        assert (first.status, first.headers["Location"]) == (303, "/?namespace=default")
        cookie = first.headers["Set-Cookie"]
        assert all(each in cookie for each in ("HttpOnly", "SameSite=Strict", "Path=/"))
        assert (await browser.get("/")).status == 200


@pytest.mark.parametrize("path", ["/", "/workloads", "/workers", "/queues", "/stream", "/?token=wrong", "/?token="])
async def test_without_the_token_nothing_is_shown_or_asked(path: str) -> None:
    api = CannedApi(canned("secret"))
    async with browsing(Client(api), opened=False) as browser:
        answer = await browser.get(path)
    assert (answer.status, api.asked) == (401, [])
    assert "secret" not in answer.text


@pytest.mark.parametrize("cookie", ["wrong", "ü", ""])
async def test_another_cookie_does_not_help(cookie: str) -> None:
    async with browsing(Client(CannedApi(canned())), opened=False) as browser:
        sent = f"jobrelay-{browser.url.port}={cookie}"
        assert (await browser.get("/", Cookie=sent)).status == 401


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "localhost:1", ""])
async def test_a_name_that_was_made_to_point_here_is_refused(host: str) -> None:
    async with browsing(Client(CannedApi(canned("secret")))) as browser:
        answer = await browser.get("/", Host=host)
    assert answer.status == 421
    assert "secret" not in answer.text


async def test_localhost_is_this_machine_too() -> None:
    async with browsing(Client(CannedApi(canned())), opened=False) as browser:
        answer = await browser.get(browser.url.path_qs, Host=f"localhost:{browser.url.port}")
    assert answer.status == 303


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["/", "/workloads", "/workloads/default/job:train", "/stream"])
async def test_nothing_can_be_changed(method: str, path: str) -> None:
    api = CannedApi(canned())
    async with browsing(Client(api)) as browser:
        assert (await browser.send(method, path)).status == 405
    assert api.asked == []
