"""Reads a fleet from the same sources as `jobrelay get`, `explain` and `logs`, with the rights of the kubeconfig."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

from jobrelay.cli.explanation import explanation_lines
from jobrelay.cli.kinds import Kinds
from jobrelay.cli.listing import Listing, choose, rows_of
from jobrelay.cli.management import Management
from jobrelay.cli.short_reason import short_reason
from jobrelay.cli.top.fleet_snapshot import FleetSnapshot, Row
from jobrelay.cli.workers_listing import worker_views
from jobrelay.sdk.pod_logs import LogOptions
from jobrelay.sdk.relay import AsyncRelay, SubmittedWorkload

__all__ = ["FleetSource"]

_FIELDS: Final = ("namespace", "kind", "name", "status", "cluster", "run", "age", "why", "sentence")
_TAIL: Final = 500


class FleetSource:
    """The fleet of a relay; `everywhere` shows workloads of all namespaces."""

    def __init__(self, relay: AsyncRelay, management: Management, kinds: Kinds, *, everywhere: bool) -> None:
        self._relay, self._management, self._kinds = relay, management, kinds
        self._namespace = None if everywhere else relay.namespace
        self._chosen: tuple[Listing, ...] | None = None

    async def snapshot(self) -> FleetSnapshot:
        """A new snapshot. Which kinds the cluster serves is asked once."""
        client = self._relay.client
        if self._chosen is None:
            self._chosen = await choose(client, self._management, self._kinds, "all", self._namespace)
        workers, problem = await worker_views(client, self._management, self._namespace)
        workloads: list[Row] = []
        for listing in self._chosen:
            if listing.adapters:
                found, problem = await rows_of(client, self._management, listing)
                workloads += [_workload(row) for row in found]
        return FleetSnapshot(workers, workloads, problem)

    async def explain(self, row: Row) -> list[str]:
        return list(explanation_lines(await self._relay.explain(_named(row))))

    async def logs(self, row: Row) -> AsyncGenerator[str, None]:
        async with aclosing(self._relay.logs(_named(row), LogOptions(tail=_TAIL, follow=True))) as lines:
            async for line in lines:
                yield line.text


def _workload(row: dict[str, Any]) -> Row:
    """A row of any kind with the same fields; only the table of Jobs has no kind."""
    whole = {"kind": "Job"} | row
    return {name: whole[name] for name in _FIELDS} | {"why": short_reason(whole["why"])}


def _named(row: Row) -> SubmittedWorkload:
    return SubmittedWorkload(row["kind"], row["namespace"], row["name"], "")
