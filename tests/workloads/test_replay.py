"""Returned statuses on a real API server, which has the last word on what may be written."""

from __future__ import annotations

import os

import pytest

from tests.oracle.endpoint import Endpoint
from tests.real.clusters import Planes

from .pairs import pairs
from .replay import replay

PAIRS = int(os.environ.get("JOBRELAY_PAIRS", "4000"))


@pytest.mark.real
async def test_no_returned_status_is_refused(planes: Planes) -> None:
    async with Endpoint.from_text(planes.get(["pairs"])[0].address) as server:
        assert await replay(server, "pairs", pairs(PAIRS, seed=1)) == []
