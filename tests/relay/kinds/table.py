"""One kind on a fleet, with its case: what every row of the conformance table starts from."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from jobrelay.cluster.node import NodeSettings
from jobrelay.kube import Object
from jobrelay.relay.workload_kind import is_built_in
from jobrelay.workloads import Adapter, JobAdapter
from tests.relay.fleets import fleet
from tests.relay.kinds.cases import ADAPTERS, CASES, KindCase, merged
from tests.relay.kinds.fleets import MANAGEMENT, KindsFleet


def name_of(adapter: Adapter) -> str:
    return adapter.resource.kind


TAKEN = [each for each in ADAPTERS if not each.runs_anyway]
taken = pytest.mark.parametrize("adapter", TAKEN, ids=name_of)


_NODES = NodeSettings(runtime="scripted", cpu="32", memory="64Gi")
_LONG = {"spec": {"template": {"metadata": {"annotations": {"jobrelay.dev/run-seconds": "1000"}}}}}


class Table(KindsFleet):
    """A fleet with one kind, and its case."""

    adapter: Adapter
    case: KindCase

    async def submit(
        self, value: str | None = "", name: str = "train", *, needs: str = "", lasts: bool = True
    ) -> Object:
        """Create an original, by default with one of the values that delegate it; see `KindCase.body`.

        `lasts` is about a Job, which nobody plays: it runs for long.
        """
        chosen = min(self.adapter.managers) if value == "" else value
        body = self.case.body(self.adapter, chosen, name, needs=needs)
        long = lasts and is_built_in(self.resource)
        return await self.on(MANAGEMENT).create(self.resource, merged(body, _LONG) if long else body)

    async def place(self) -> str:
        return str(await self.fleet.until(self.assigned))

    async def assigned(self) -> str:
        return await self.placed("train")

    async def returned(self, place: str) -> Object:
        """Wait until there is nothing more to return from the mirror; the original."""

        async def same() -> Object | None:
            original, mirror = await self.get(MANAGEMENT, "train"), await self.get(place, "train")
            if original is None or mirror is None:
                return None
            known = original.decode().get("status") or not mirror.decode().get("status")
            return original if known and self.adapter.merged_status(original, mirror) is None else None

        found = await self.fleet.until(same)
        assert isinstance(found, Object)
        return found


@asynccontextmanager
async def table(
    adapter: Adapter, workers: int = 1, *also: Adapter, on_workers: bool = True, **settings: Any
) -> AsyncIterator[Table]:
    """A fleet that has the definition of a kind; its relay has adapters for Jobs, this kind and some others."""
    async with fleet(workers, start=False, nodes=_NODES, **{"keep_finished": 1e9, **settings}) as inner:
        inner.adapters = tuple({str(each.resource): each for each in (JobAdapter(), adapter, *also)}.values())
        made = Table(inner, adapter.resource)
        made.adapter, made.case = adapter, CASES[str(adapter.resource)]
        for each in (adapter, *also):
            if not is_built_in(each.resource):
                where = (MANAGEMENT, *(inner.workers if on_workers else ()))
                await KindsFleet(inner, each.resource).define(*where)
        await inner.start()
        yield made
