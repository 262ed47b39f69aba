"""Returned statuses on a real API server, which has the last word on what may be written."""

from __future__ import annotations

import os

import pytest

from tests.oracle.endpoint import Endpoint
from tests.real.clusters import Planes

from .pairs import pairs
from .replay import replay

PAIRS = int(os.environ.get("JOBRELAY_PAIRS", "20000"))
SEEDS = 4


@pytest.mark.real
@pytest.mark.parametrize("seed", range(SEEDS))
async def test_no_returned_status_is_refused(planes: Planes, seed: int) -> None:
    async with Endpoint.from_text(planes.get(["pairs"])[0].address) as server:
        assert await replay(server, f"pairs-{seed}", pairs(PAIRS // SEEDS, seed)) == []
