"""Writes to Workloads, each for the version that it was decided from; replies go into the cache at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobrelay.kube import Cache, Client, Object, merge_patch
from jobrelay.queueing import names
from jobrelay.queueing.changes import Change
from jobrelay.queueing.resources import WORKLOADS


class WorkloadWriter:
    """Writes Workloads."""

    def __init__(self, client: Client, workloads: Cache) -> None:
        self._client, self._workloads = client, workloads

    async def create(self, body: dict[str, Any]) -> Object:
        return self._observed(await self._client.create(WORKLOADS, body, field_manager=names.MANAGER))

    async def delete(self, workload: Object) -> None:
        await self._client.delete(WORKLOADS, workload.name, workload.namespace, uid=workload.uid)

    async def patch(
        self, workload: Object, spec: dict[str, Any], annotations: Mapping[str, str | None] | None = None
    ) -> Object:
        """Change the spec, and annotations; raises Conflict if the Workload has changed meanwhile."""
        change: dict[str, Any] = {"spec": spec} if spec else {}
        return await self._patch(workload, change, None, {"annotations": annotations} if annotations else {})

    async def patch_status(self, workload: Object, status: Change) -> Object:
        """Change the status; raises Conflict if the Workload has changed meanwhile."""
        return await self._patch(workload, {"status": status}, "status")

    async def _patch(
        self,
        workload: Object,
        change: dict[str, Any],
        subresource: str | None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Object:
        known = {"uid": workload.uid, "resourceVersion": workload.resource_version}
        patch = merge_patch({**change, "metadata": {**known, **(metadata or {})}})
        return self._observed(
            await self._client.patch(
                WORKLOADS,
                workload.name,
                patch,
                workload.namespace,
                subresource=subresource,
                field_manager=names.MANAGER,
            )
        )

    def _observed(self, workload: Object) -> Object:
        self._workloads.observe(workload)
        return workload
