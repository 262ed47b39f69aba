"""What a kind costs that is served everywhere and that nobody uses: one watch, and one look at each worker."""

from __future__ import annotations

from collections import Counter

from jobrelay.kube import Request, Response, Transport
from jobrelay.relay.workload_kind import is_built_in
from jobrelay.workloads import load_adapters
from tests.relay.fleets import Fleet, fleet
from tests.relay.kinds.fleets import MANAGEMENT, KindsFleet

ADAPTERS = load_adapters(())
CUSTOM = [each.resource for each in ADAPTERS if not is_built_in(each.resource)]
ONCE = {each.plural: 1 for each in CUSTOM}


class Requests:
    """Counts the requests for objects of custom kinds, and knows which of their watches are open."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.watches: Counter[str] = Counter()
        self.others: Counter[str] = Counter()

    async def send(self, request: Request) -> Response:
        path, _, query = request.path.partition("?")
        for resource in CUSTOM:
            if f"{resource.group}/{resource.version}/" in path and resource.plural in path.split("/"):
                (self.watches if "watch=true" in query else self.others)[resource.plural] += 1
        return await self.inner.send(request)


async def _serve_all(it: Fleet) -> tuple[Requests, Requests]:
    """Define every kind everywhere, and start the relay; the requests to the management cluster and to a worker."""
    it.adapters = ADAPTERS
    for resource in CUSTOM:
        await KindsFleet(it, resource).define(MANAGEMENT, *it.workers)
    home, worker = Requests(it.home), Requests(it.links["worker-1"])
    it.home, it.links["worker-1"] = home, worker  # type: ignore[assignment]
    await it.start()
    return home, worker


async def _looked_at(it: Fleet) -> None:
    """Wait until the worker has shown what it has of every kind, and none of that is watched any more."""
    assert it.relay is not None
    mirrors = it.relay.registry.workers["worker-1"].mirrors

    async def done() -> bool:
        idle = (not any(part.connected for part in mirrors[each].parts) for each in CUSTOM)
        return all(map(mirrors.is_read, CUSTOM)) and all(idle)

    await it.until(done)


async def test_it_costs_the_management_cluster_one_watch_and_workers_one_look_each() -> None:
    async with fleet(1, start=False) as it:
        home, worker = await _serve_all(it)
        await _looked_at(it)
        assert (home.watches, home.others) == (ONCE, {})
        assert (worker.watches, worker.others) == (ONCE, {})


async def test_it_adds_nothing_to_the_work_for_others() -> None:
    async with fleet(1, start=False) as it:
        home, worker = await _serve_all(it)
        await _looked_at(it)
        await it.submit()
        await it.finished()
        assert (home.watches, home.others, worker.watches, worker.others) == (ONCE, {}, ONCE, {})
