"""For all tests: property tests try the same examples on every machine, however slow it is.

`set_event_loop(None)` keeps asyncio from making a loop when it is merely asked for one: the pytest plugin asks, and
never closes what it gets.

Messages look as in the product: tracebacks with the values of local variables take a second each.

`planes` are real clusters for all tests of a session; `fleet` and `any_cluster` are of either kind, and tests that take
them run on both.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from jobrelay.cli.logging_setup import configure_logging
from tests.real import KINDS_OF_CLUSTERS

if TYPE_CHECKING:
    from tests.real.clusters import Planes
    from tests.relay.fleets import AnyCluster, MakeFleet


asyncio.set_event_loop(None)
configure_logging("debug", "text")
settings.register_profile("jobrelay", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("jobrelay")


@pytest.fixture(scope="session")
def planes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planes]:
    """Starts real clusters when a test asks for them; all end with the session."""
    from tests.real.clusters import Planes

    with contextlib.ExitStack() as stack:
        yield Planes(stack, tmp_path_factory.mktemp("real"))


@pytest.fixture(params=KINDS_OF_CLUSTERS)
def fleet(request: pytest.FixtureRequest) -> MakeFleet:
    """How to make a management cluster with workers and a relay."""
    if request.param == "real":
        from tests.real.fleet import RealFleets

        return RealFleets(request.getfixturevalue("planes")).fleet
    from tests.relay import fleets

    return fleets.fleet


@pytest.fixture
def embedded_fleet() -> MakeFleet:
    """The same with embedded clusters only: for logs, which need kubelets, and for the sizes of nodes."""
    from tests.relay import fleets

    return fleets.fleet


@pytest.fixture(params=KINDS_OF_CLUSTERS)
async def any_cluster(request: pytest.FixtureRequest) -> AsyncIterator[AnyCluster]:
    """One cluster without nodes."""
    if request.param == "real":
        from tests.real.clusters import reached

        async with reached(request.getfixturevalue("planes").get(["management"])[0]) as real:
            yield real
        return
    from jobrelay.cluster import Cluster
    from jobrelay.cluster.node import NodeSettings

    async with Cluster("tests", nodes=NodeSettings(runtime="none")) as embedded:
        yield embedded
