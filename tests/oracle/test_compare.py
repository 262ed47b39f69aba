"""The lane: all scenarios on a real API server and on a fresh embedded cluster; the share of identical answers must
hold."""

from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from jobrelay.cluster.cluster import Cluster

from .compare import SAME_CONTROLLERS, as_report, compare_all, share
from .endpoint import Endpoint
from .scenarios import load

pytestmark = pytest.mark.oracle

IDENTICAL = 0.98
"""The least share of identical answers; raise it as the server gets closer."""
LEAST_REQUESTS = 300


@pytest_asyncio.fixture
async def ours() -> AsyncIterator[Endpoint]:
    async with (
        Cluster("compared", controllers=SAME_CONTROLLERS) as cluster,
        Endpoint.from_kubeconfig(cluster.kubeconfig) as endpoint,
    ):
        yield endpoint


@pytest.mark.asyncio
async def test_answers_are_those_of_a_real_api_server(
    real_address: str, ours: Endpoint, tmp_path: pathlib.Path
) -> None:
    async with Endpoint.from_text(real_address) as real:
        results = await compare_all(load(), real, ours)
    same, total = share(results)
    report = tmp_path / "differences.md"
    report.write_text(as_report(results), encoding="utf-8", errors="replace")
    assert total >= LEAST_REQUESTS
    assert same / total >= IDENTICAL, f"{same} of {total} answers are identical; see {report}"
