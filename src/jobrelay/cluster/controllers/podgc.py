"""Pod garbage collection: pods that nobody will ever finish are finished.

Every twenty seconds: pods of nodes that are gone, and pods that were deleted before they got a node, are marked Failed (so
that whoever counts them can) and removed.
"""

from __future__ import annotations

from typing import Any, Final

from jobrelay.cluster.controllers.context import Context
from jobrelay.kinds.times import format_time
from jobrelay.kube import Cache, Key, Object
from jobrelay.kube.clock import sleep
from jobrelay.kube.errors import KubeError
from jobrelay.kube.patch import strategic_patch
from jobrelay.kube.resource import NODES, PODS

PERIOD: Final = 20.0


def set_up(context: Context) -> None:
    """Adds the controller, named as in kube-controller-manager: pod-garbage-collector-controller."""
    context.manager.add(PodGarbageCollector(context))


class PodGarbageCollector:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._pods: Cache = context.cache(PODS)
        self._nodes: Cache = context.cache(NODES)

    async def run(self) -> None:
        while True:
            await sleep(self._context.clock, PERIOD)
            await self.collect()

    async def collect(self) -> None:
        """Looks at every pod once."""
        for pod in list(self._pods):
            reason = self._reason(pod)
            if reason:
                await self._finish(pod, reason)

    def _reason(self, pod: Object) -> str:
        """Why a pod will never end by itself; "" when it may."""
        spec: dict[str, Any] = pod.decode().get("spec") or {}
        node = spec.get("nodeName", "")
        if not node:
            return "DeletionByPodGC-unscheduled" if pod.metadata.deletion_timestamp else ""
        gone = self._nodes.get(Key("", node)) is None and len(self._nodes) > 0
        return "DeletionByPodGC" if gone else ""

    async def _finish(self, pod: Object, reason: str) -> None:
        metadata = pod.metadata
        status: dict[str, Any] = {"phase": "Failed"}
        if reason == "DeletionByPodGC":
            status["conditions"] = [
                {
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": reason,
                    "message": "PodGC: node no longer exists",
                    "lastTransitionTime": format_time(self._context.clock.now()),
                }
            ]
        try:
            if (pod.decode().get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
                await self._context.client.patch(
                    PODS, metadata.name, strategic_patch({"status": status}), metadata.namespace, subresource="status"
                )
            await self._context.client.delete(PODS, metadata.name, metadata.namespace, grace_period=0)
        except KubeError:
            return
