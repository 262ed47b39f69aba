"""A fresh API server for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from .serving import Server


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    yield made
    made.api.watches.close()
