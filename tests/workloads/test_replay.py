"""Returned statuses on a real API server: `JOBRELAY_ORACLE=https://127.0.0.1:26000/TOKEN pytest -m oracle tests/workloads`."""

from __future__ import annotations

import os
import uuid

import pytest

from tests.oracle.endpoint import Endpoint

from .pairs import pairs
from .replay import replay

pytestmark = pytest.mark.oracle


@pytest.mark.skipif("JOBRELAY_ORACLE" not in os.environ, reason="JOBRELAY_ORACLE names no real control plane")
async def test_no_returned_status_is_refused() -> None:
    async with Endpoint.from_text(os.environ["JOBRELAY_ORACLE"]) as server:
        assert await replay(server, f"pairs-{uuid.uuid4().hex[:8]}", pairs(500, seed=1)) == []
