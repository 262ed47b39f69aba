"""A real Chromium: the system's, driven by playwright; tests that need it are skipped where one of them is missing."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


def executable() -> str:
    return next((path for name in NAMES if (path := shutil.which(name))), "")


@asynccontextmanager
async def chromium() -> AsyncIterator[Any]:
    """The browser. Its pages are given time: nothing here depends on how fast the machine is."""
    driver = pytest.importorskip("playwright.async_api", reason="playwright is not installed")
    if not executable():
        pytest.skip("Chromium is not on PATH")
    async with driver.async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable())
        try:
            yield browser
        finally:
            await browser.close()


class Visit:
    """A page of one visitor, and what its console said."""

    def __init__(self, page: Any, url: str) -> None:
        self.page, self.origin = page, url.split("/?")[0]
        self.said: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: self.said.append(f"dialog {dialog.message}"))

    async def goto(self, path: str) -> None:
        await self.page.goto(self.origin + path)

    async def sees(self, text: str) -> None:
        """Wait until the page shows a text."""
        await self.page.get_by_text(text).first.wait_for()


@asynccontextmanager
async def visit(browser: Any, url: str, **options: Any) -> AsyncIterator[Visit]:
    """Open the URL that `jobrelay dashboard` prints, in a window of its own."""
    context = await browser.new_context(**options)
    context.set_default_timeout(60_000)
    try:
        made = Visit(await context.new_page(), url)
        await made.page.goto(url)
        yield made
    finally:
        await context.close()
