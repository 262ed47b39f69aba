"""Pod garbage collection: removes pods that no node will ever terminate.

Every twenty seconds, pods of nodes that do not exist, pods that were deleted before they were bound, and deleted pods
of nodes that are out of service are marked Failed (so that their owners can count them) and removed. A missing node is
given forty seconds to appear, because pods may be seen before their node.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from jobrelay.apimachinery.times import format_time
from jobrelay.control import ControllerContext
from jobrelay.kube import Cache, Key, Object
from jobrelay.kube.clock import sleep
from jobrelay.kube.errors import KubeError
from jobrelay.kube.patch import strategic_patch
from jobrelay.kube.resource import NODES, PODS
from jobrelay.logs import get_logger

log = get_logger(__name__)

PERIOD: Final = 20.0
QUARANTINE: Final = 40.0
_OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
_DISRUPTED: Final = {
    "type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC",
    "message": "PodGC: node no longer exists",
}  # fmt: skip


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _Bound(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


def set_up(context: ControllerContext) -> None:
    """Adds the controller, named as in kube-controller-manager: pod-garbage-collector-controller."""
    context.manager.add(PodGarbageCollector(context))


class PodGarbageCollector:
    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._pods: Cache = context.cache(PODS)
        self._nodes: Cache = context.cache(NODES)
        self._bound: dict[str, set[Key]] = {}
        """Pods by their node; "" for unbound pods."""
        self._node_of: dict[Key, str] = {}
        self._missing: dict[str, float] = {}
        """Nodes that pods are bound to and that do not exist, with the end of their quarantine."""
        self._pods.subscribe(self._pod_changed)

    def _pod_changed(self, old: Object | None, new: Object | None) -> None:
        if old is not None:
            node = self._node_of.get(old.key, "")
            if node and new is not None and new.uid == old.uid:
                return  # a bound pod never changes its node
            self._node_of.pop(old.key, None)
            keys = self._bound.get(node, set())
            keys.discard(old.key)
            if not keys:
                self._bound.pop(node, None)
        if new is not None:
            node = self._node_of[new.key] = new.decode(_Bound).spec.node_name
            self._bound.setdefault(node, set()).add(new.key)

    async def run(self) -> None:
        while True:
            await sleep(self._context.clock, PERIOD)
            await self.collect()

    async def collect(self) -> None:
        """One pass over all pods."""
        gone = self._gone_nodes()
        for node in list(self._bound):
            if node in gone:
                for pod in self._pods_of(node):
                    await self._remove(pod, [self._disrupted(pod)])
            elif not node or self._out_of_service(node):
                for pod in self._pods_of(node):
                    if pod.deleting:
                        await self._remove(pod, [])

    def _pods_of(self, node: str) -> list[Object]:
        found = (self._pods.get(key) for key in sorted(self._bound.get(node, ())))
        return [pod for pod in found if pod is not None]

    def _gone_nodes(self) -> set[str]:
        """The nodes whose quarantine is over."""
        now = self._context.clock.monotonic()
        missing = {name for name in self._bound if name and self._nodes.get(Key("", name)) is None}
        self._missing = {name: self._missing.get(name, now + QUARANTINE) for name in missing}
        return {name for name, until in self._missing.items() if until <= now}

    def _out_of_service(self, name: str) -> bool:
        found = self._nodes.get(Key("", name))
        if found is None:
            return False
        node = found.decode()
        conditions = (node.get("status") or {}).get("conditions") or ()
        ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
        return not ready and any(taint["key"] == _OUT_OF_SERVICE for taint in node["spec"].get("taints") or ())

    def _disrupted(self, pod: Object) -> dict[str, Any]:
        now = format_time(self._context.clock.now())
        return {**_DISRUPTED, "observedGeneration": pod.metadata.generation, "lastTransitionTime": now}

    async def _remove(self, pod: Object, conditions: list[dict[str, Any]]) -> None:
        status = {"phase": "Failed", "observedGeneration": pod.metadata.generation, "conditions": conditions}
        body = {"metadata": {"uid": pod.uid}, "status": status}
        try:
            if (pod.decode().get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
                patch = strategic_patch(body)
                await self._context.client.patch(PODS, pod.name, patch, pod.namespace, subresource="status")
            await self._context.client.delete(PODS, pod.name, pod.namespace, grace_period=0)
        except KubeError as error:
            log.debug("pod not collected yet", pod=str(pod.key), error=str(error))
