"""The dashboard as people use it: a real Chromium, keyboard and all, on a fleet that works."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from jobrelay.cluster import Cluster
from jobrelay.kube import Client, SystemClock
from jobrelay.kube.resource import JOBS
from jobrelay.web.serving import local_dashboard
from tests.relay import fleets
from tests.relay.api import ApiFleet, serving_fleet, talking
from tests.relay.fleets import job
from tests.web.browsing import CannedApi, canned
from tests.web.chromium import Visit, chromium, visit

pytestmark = pytest.mark.browser
PAGES = ("/", "/workloads", "/workloads/default/job:train", "/workers", "/queues")
EVIL = "<img src=x onerror=\"document.title='hacked'\"><script>document.title='hacked'</script>"
MANY = 50_000


@asynccontextmanager
async def shown(client: Client, **options: Any) -> AsyncIterator[Visit]:
    """Somebody's dashboard in a browser."""
    async with (
        chromium() as browser,
        local_dashboard(client, "default", 0, SystemClock()) as url,
        visit(browser, url, **options) as visitor,
    ):
        yield visitor


@asynccontextmanager
async def working() -> AsyncIterator[ApiFleet]:
    async with serving_fleet(fleets.fleet) as served:
        yield served


async def test_numbers_change_while_one_looks() -> None:
    async with working() as served, served.user() as ann, shown(ann) as visitor:
        await visitor.sees("0 running, 0 waiting")
        await visitor.page.wait_for_selector('#link[data-state="on"]')
        await ann.create(JOBS, job(seconds=1000))
        await visitor.sees("1 running, 0 waiting")
        announced = visitor.page.locator("#announce", has_text="1 running")
        await announced.wait_for(state="attached")
        assert visitor.said == []


async def test_a_log_grows_while_one_looks() -> None:
    async with working() as served, served.user() as ann, shown(ann) as visitor:
        body = talking(1000)
        body["metadata"]["annotations"]["jobrelay.dev/clusters"] = "nowhere"
        await ann.create(JOBS, body)
        await visitor.goto("/workloads/default/job:train")
        await visitor.sees("no worker runs Job default/train yet")
        await ann.delete(JOBS, "train", "default")
        await ann.create(JOBS, talking(1000))
        await served.it.runs()
        await visitor.page.locator("#log", has_text="bye").wait_for()
        assert "hello" in await visitor.page.inner_text("#log")


async def test_filters_sorting_and_pages_are_one_click_each() -> None:
    async with working() as served, served.user() as ann, shown(ann) as visitor:
        for number in range(60):
            await ann.create(JOBS, job(f"train-{number:02d}", suspend=number != 7, seconds=1000))
        await served.it.runs("train-07")
        await visitor.goto("/workloads?sort=name")
        await visitor.sees("Page 1 of 2")
        await visitor.page.click("text=Next →")
        await visitor.sees("train-59")
        await visitor.page.select_option("#status", "Running")
        await visitor.sees("1–1 of 1 workloads")
        assert await visitor.page.locator("tbody tr").count() == 1
        await visitor.page.click("text=Clear")
        await visitor.page.fill("#search", "-42")
        await visitor.page.press("#search", "Enter")
        await visitor.page.wait_for_url("**search=-42**")
        assert await visitor.page.locator("tbody th").all_inner_texts() == ["train-42"]


async def test_everything_can_be_reached_by_keyboard() -> None:
    async with shown(Client(CannedApi(canned()))) as visitor:
        page = visitor.page
        await page.keyboard.press("Tab")
        assert await page.evaluate("document.activeElement.textContent") == "Skip to content"
        await page.keyboard.press("Enter")
        assert await page.evaluate("document.activeElement.id") == "main"
        await page.keyboard.press("/")
        await page.wait_for_url("**/workloads")
        await page.wait_for_selector('#link[data-state="on"]')
        await page.keyboard.press("/")
        assert await page.evaluate("document.activeElement.id") == "search"
        await page.keyboard.type("a/b")
        assert await page.input_value("#search") == "a/b"


async def test_focus_stays_where_it_is_when_a_page_changes() -> None:
    api = CannedApi(canned("train", Waiting=1))
    async with shown(Client(api)) as visitor:
        page = visitor.page
        await page.wait_for_selector('#link[data-state="on"]')
        await page.focus(".tile.wait")
        api.answers |= canned("train", Waiting=2)
        api.change("8")
        await visitor.sees("0 running, 2 waiting")
        assert "status=Waiting" in await page.evaluate("document.activeElement.href")


@pytest.mark.parametrize("path", PAGES)
async def test_markup_of_others_is_only_text(path: str) -> None:
    async with shown(Client(CannedApi(canned(EVIL)))) as visitor:
        await visitor.goto(path)
        await visitor.page.wait_for_selector('#link[data-state="on"]')
        if path.endswith("train"):
            await visitor.page.locator("#log", has_text="onerror").wait_for()
        assert await visitor.page.locator("main img, main script").count() == 0
        assert (await visitor.page.title()).endswith(" · jobrelay")
        assert [text for text in visitor.said if "Content Security Policy" in text or "dialog" in text] == []


@pytest.mark.parametrize("path", PAGES)
async def test_pages_fit_a_phone(path: str) -> None:
    async with shown(Client(CannedApi(canned())), viewport={"width": 360, "height": 740}) as visitor:
        await visitor.goto(path)
        assert await visitor.page.evaluate("document.documentElement.scrollWidth") <= 360


async def test_the_colours_are_those_that_the_system_asks_for() -> None:
    found = []
    for scheme in ("light", "dark"):
        async with shown(Client(CannedApi(canned())), color_scheme=scheme) as visitor:
            found.append(await visitor.page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
    assert found == ["rgb(246, 247, 249)", "rgb(18, 22, 28)"]


async def test_pages_are_whole_without_scripts() -> None:
    async with shown(Client(CannedApi(canned())), java_script_enabled=False) as visitor:
        await visitor.goto("/workloads/default/job:train")
        await visitor.sees("Workers, if it were placed now")
        await visitor.page.click("text=Whole log as text")
        assert await visitor.page.inner_text("pre") == "train\n"


async def test_a_neighbour_sees_nothing_of_it() -> None:
    async with working() as served, served.user() as ann, served.user("bob", "other") as bob:
        await ann.create(JOBS, job("secret", seconds=1000))
        await served.it.runs("secret")
        async with (
            chromium() as browser,
            local_dashboard(bob, "other", 0, SystemClock()) as url,
            visit(browser, url) as visitor,
        ):
            await visitor.sees("0 running, 0 waiting")
            for path in ("/workloads/default/job:secret", "/?namespace=default"):
                await visitor.goto(path)
                await visitor.sees("You may not see this")


async def test_people_sign_in_to_a_relay_and_out_again() -> None:
    async with working() as served, served.user() as ann, chromium() as browser:
        await ann.create(JOBS, job("mine", seconds=1000))
        await served.it.runs("mine")
        url = f"https://localhost:{served.serving.port}/dashboard/?namespace=default"
        async with visit(browser, url, ignore_https_errors=True) as visitor:
            await visitor.page.fill("#token", await served.token("ann", "default"))
            await visitor.page.click("button:has-text('Sign in')")
            await visitor.page.goto(url)
            await visitor.sees("1 running, 0 waiting")
            await visitor.page.click("text=Sign out")
            await visitor.sees("Sign in with a token that it knows")


async def test_fifty_thousand_workloads_are_one_page_at_a_time() -> None:
    async with working() as served:
        await create_many(served.it.management, MANY)
        async with shown(served.it.client) as visitor:
            await visitor.goto("/workloads?sort=-name")
            await visitor.sees("Page 1 of 1\u202f000")
            assert await visitor.page.locator("tbody tr").count() == 50
            await visitor.page.fill("#search", "49998")
            await visitor.page.press("#search", "Enter")
            await visitor.sees("1–1 of 1 workloads")


async def create_many(cluster: Cluster, number: int) -> None:
    """Suspended Jobs, which cost the relay nothing but their rows."""
    client, left = cluster.client(), iter(range(number))

    async def create() -> None:
        for each in left:
            await client.create(JOBS, job(f"train-{each:05d}", suspend=True))

    await asyncio.gather(*(create() for _ in range(20)))
