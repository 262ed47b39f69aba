"""What people see is what RBAC lets them see: with their own kubeconfig, and signed in to a relay by a token."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from jobrelay.kube.resource import JOBS
from tests.relay import fleets
from tests.relay.api import ApiFleet, serving_fleet, talking
from tests.relay.fleets import MakeFleet, job
from tests.web.browsing import Browser, Elements, browsing

COOKIE = "__Secure-jobrelay"


@asynccontextmanager
async def visiting(served: ApiFleet) -> AsyncIterator[Browser]:
    """A browser at the relay itself, by the name that its certificate has."""
    tls = ssl.create_default_context(cadata=served.serving.registered.authority.decode())
    connector = aiohttp.TCPConnector(ssl=tls)
    url = f"https://localhost:{served.serving.port}/dashboard/"
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield Browser(url, session)


async def test_a_plain_user_sees_their_namespace_and_no_other(fleet: MakeFleet) -> None:
    async with serving_fleet(fleet) as served, served.user() as ann, served.user("bob", "other") as bob:
        await ann.create(JOBS, job("mine", seconds=1000))
        await served.it.runs("mine")
        async with browsing(ann, "default") as own, browsing(bob, "other") as neighbour:
            assert "mine" in Elements((await own.get("/workloads")).text).texts

            async def runs() -> bool:
                return "1 running" in (await own.get("/")).text

            await served.it.until(runs)
            assert "mine" in (await own.get("/workloads/default/job:mine")).text
            assert "mine" not in (await neighbour.get("/workloads")).text
            for path in ("/?namespace=default", "/workloads?namespace=default", "/workloads/default/job:mine"):
                refused = await neighbour.get(path)
                assert refused.status == 403
                assert "running" not in refused.text


async def test_an_administrator_sees_all_namespaces_and_the_room_of_workers(embedded_fleet: MakeFleet) -> None:
    async with serving_fleet(embedded_fleet) as served:
        await served.it.submit("one", seconds=1000)
        worker = await served.it.runs("one")
        async with browsing(served.it.client) as browser:
            page = Elements((await browser.get("/workers")).text)
    assert "2 of 2 are connected." in page.texts
    assert worker in page.texts
    assert any(text.startswith("0 of ") for text in page.texts)


async def test_a_log_is_followed_to_its_end() -> None:
    async with serving_fleet(fleets.fleet) as served, served.user() as ann:
        await ann.create(JOBS, talking())
        await served.it.finished()
        async with browsing(ann) as browser, browser.stream("/stream?log=default/job:train") as events:
            seen = []
            async for name, data in events:
                if name == "ended":
                    break
                if name == "log":
                    seen.append(data)
        assert [re.sub(r"^\[.*?\] ", "", line) for line in "".join(seen).splitlines()] == ["hello", "bye"]


async def test_a_change_of_a_workload_is_told(fleet: MakeFleet) -> None:
    async with (
        asyncio.timeout(120),
        serving_fleet(fleet) as served,
        served.user() as ann,
        browsing(ann) as browser,
        browser.stream("/stream?namespace=default") as events,
    ):
        assert (await anext(events))[0] == "changed"
        await ann.create(JOBS, job(seconds=1000))
        assert (await anext(events))[0] == "changed"


async def test_whoever_signs_in_to_a_relay_sees_what_their_token_lets_them(fleet: MakeFleet) -> None:
    async with serving_fleet(fleet) as served, visiting(served) as browser:
        token = await served.token("ann", "default")
        async with served.user("ann", "default") as ann:
            await ann.create(JOBS, job("mine", seconds=1000))
        await served.it.runs("mine")
        signed = await browser.send("POST", "/dashboard/sign-in", {"token": token}, Origin=str(browser.url.origin()))
        assert (signed.status, signed.headers["Location"]) == (303, "/dashboard/")
        cookie = signed.headers["Set-Cookie"]
        assert all(part in cookie for part in ("HttpOnly", "Secure", "SameSite=Strict", "Path=/dashboard"))
        kept = cookie.partition(";")[0]
        shown = await browser.get("/dashboard/workloads?namespace=default", Cookie=kept)
        assert (shown.status, "mine" in Elements(shown.text).texts) == (200, True)
        assert (await browser.get("/dashboard/?namespace=other", Cookie=kept)).status == 403


async def test_a_proxy_may_send_the_token_of_who_it_has_signed_in(fleet: MakeFleet) -> None:
    async with serving_fleet(fleet) as served, visiting(served) as browser, served.user("ann", "default"):
        token = await served.token("ann", "default")
        shown = await browser.get("/dashboard/?namespace=default", Authorization=f"Bearer {token}")
        assert (shown.status, "Sign out" in Elements(shown.text).texts) == (200, True)


@pytest.mark.parametrize("token", ["", "nobody's", 'a"b', "a b", "x" * 4000])
async def test_nobody_gets_in_without_a_token_that_the_cluster_knows(token: str) -> None:
    async with serving_fleet(fleets.fleet) as served, visiting(served) as browser:
        for path in ("/dashboard/", "/dashboard/workloads", "/dashboard/stream"):
            assert (await browser.get(path, Cookie=f"{COOKIE}={token}")).status == 401


async def test_pages_of_other_sites_can_neither_sign_in_nor_out() -> None:
    async with serving_fleet(fleets.fleet) as served, visiting(served) as browser:
        for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}, {}):
            for path in ("/dashboard/sign-in", "/dashboard/sign-out"):
                answer = await browser.send("POST", path, {"token": "abc"}, **headers)
                assert (answer.status, "Set-Cookie" in answer.headers) == (403, False)


async def test_signing_out_forgets_the_token() -> None:
    async with serving_fleet(fleets.fleet) as served, visiting(served) as browser:
        answer = await browser.send("POST", "/dashboard/sign-out", Origin=str(browser.url.origin()))
    assert (answer.status, answer.headers["Location"]) == (303, "/dashboard/")
    assert f'{COOKIE}=""' in answer.headers["Set-Cookie"]


async def test_the_pages_do_not_change_what_the_api_answers() -> None:
    async with serving_fleet(fleets.fleet) as served, visiting(served) as browser:
        answer = await browser.get("/apis")
    assert (answer.status, "Content-Security-Policy" in answer.headers) == (401, False)
