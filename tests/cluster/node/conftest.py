from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator

import pytest

from .world import World, processes


@pytest.fixture
async def world(tmp_path: pathlib.Path) -> AsyncIterator[World]:
    async with processes(tmp_path) as made:
        yield made
