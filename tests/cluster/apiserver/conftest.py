"""A fresh API server for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from .serving import Server
from .webhooks import Webhooks, webhooks_of


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    yield made
    made.api.watches.close()


@pytest.fixture
async def webhooks(server: Server) -> AsyncIterator[Webhooks]:
    async with webhooks_of(server) as made:
        yield made
