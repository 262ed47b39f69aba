"""The relay's own suite once more, with no more rights than `install` and `join` give.

Left out is what these identities are not to do: making namespaces, serving others than those that were named, and being a worker by
the rights of the management cluster. Tests that are about nodes get the right to read them. Crashes at every step, which
take long, are no matter of rights.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from jobrelay.kube import FaultyTransport, Kubeconfig
from jobrelay.kube.network import NetworkTransport
from tests.real.clusters import Planes
from tests.real.fleet import RealFleets
from tests.relay import test_relay, test_trouble
from tests.relay.fleets import ORIGIN, Fleet, MakeFleet

from .fleets import install, joined, worker_kubeconfig

PLACE = "default"
NOT_FOR_THEM = (
    test_relay.test_a_worker_without_the_namespace_is_set_aside_and_the_next_one_takes_the_job,
    test_relay.test_namespaces_are_created_if_the_operator_allows_it,
    test_relay.test_the_management_cluster_can_be_a_worker,
)


async def _limit(it: Fleet, stack: AsyncExitStack, *, cluster_wide: bool) -> None:
    """Exchanges the ways to all clusters, and says what they serve."""
    await stack.enter_async_context(joined(it, namespaces=(PLACE,), origin=ORIGIN, cluster_wide=cluster_wide))
    it.home = FaultyTransport(await stack.enter_async_context(NetworkTransport(await install(it))))
    for name in it.workers:
        way = Kubeconfig.inline(await worker_kubeconfig(it, name)).connection()
        it.links[name] = FaultyTransport(await stack.enter_async_context(NetworkTransport(way)))
    it.source.specs = {name: replace(spec, namespaces=(PLACE,)) for name, spec in it.source.specs.items()}


@pytest.fixture(params=[pytest.param("real", marks=pytest.mark.real)])
def fleet(planes: Planes) -> MakeFleet:
    """Fleets of real clusters as ever, but for who the relay is."""
    make = RealFleets(planes).fleet

    @asynccontextmanager
    async def limited(workers: int = 2, *, start: bool = True, **more: Any) -> AsyncIterator[Fleet]:
        async with make(workers, start=False, **more) as it, AsyncExitStack() as stack:
            await _limit(it, stack, cluster_wide="nodes" in more)
            stack.push_async_callback(it.kill)
            if start:
                await it.start()
            yield it

    return limited


def _tests(*modules: ModuleType) -> Iterator[tuple[str, Any]]:
    for module in modules:
        for name, test in vars(module).items():
            if name.startswith("test_") and test not in NOT_FOR_THEM and "fleet" in test.__annotations__:
                yield name, test


globals().update(_tests(test_relay, test_trouble))
