"""The lane: all scenarios on a real API server and on a fresh embedded cluster; they differ where the list says so."""

from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from jobrelay.cluster.cluster import Cluster

from . import known
from .compare import SAME_CONTROLLERS, Result, as_report, compare_all, share
from .endpoint import Endpoint
from .scenarios import load

pytestmark = pytest.mark.oracle

LEAST_REQUESTS = 13_000


@pytest_asyncio.fixture
async def ours() -> AsyncIterator[Endpoint]:
    async with (
        Cluster("compared", controllers=SAME_CONTROLLERS) as cluster,
        Endpoint.from_kubeconfig(cluster.kubeconfig) as endpoint,
    ):
        yield endpoint


async def _replayed(results: list[Result], real: Endpoint, ours: Endpoint) -> list[Result]:
    """The results, those with a difference that is not on the list once more and alone: controllers of a real cluster
    take their time, more so beside many other scenarios."""
    unexpected = {each.scenario for each in known.unlisted(known.load(), known.differing(results))}
    again = [result.scenario for result in results if result.scenario.name in unexpected]
    replayed = {result.scenario.name: result for result in await compare_all(again, real, ours, at_once=1)}
    return [replayed.get(result.scenario.name, result) for result in results]


@pytest.mark.asyncio
async def test_answers_are_those_of_a_real_api_server(
    real_address: str, ours: Endpoint, tmp_path: pathlib.Path
) -> None:
    async with Endpoint.from_text(real_address) as real:
        results = await compare_all(load(), real, ours)
        results = await _replayed(results, real, ours)
    report = tmp_path / "differences.md"
    report.write_text(as_report(results), encoding="utf-8", errors="replace")
    assert share(results)[1] >= LEAST_REQUESTS
    played = {result.scenario.name for result in results}
    problems = known.problems(known.load(), known.differing(results), played)
    assert not problems, "\n".join([*problems, f"see {report}"])
