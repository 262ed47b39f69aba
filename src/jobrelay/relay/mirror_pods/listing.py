"""The pods of a workload on the worker that runs it: which they are, and reading them as the relay.

Only pods of the workload's own mirror are ever read: those that its kind's selectors find in its namespace, and that do
not belong to another object of that kind.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from jobrelay.kube import Client, Object
from jobrelay.kube.resource import PODS
from jobrelay.workloads import Adapter

INDEX: Final = "batch.kubernetes.io/job-completion-index"
_NOT_STARTED: Final = (None, "Pending")


class MirrorPods:
    """The pods of one mirror; `client` is one of its worker."""

    def __init__(self, client: Client, adapter: Adapter, mirror: Object) -> None:
        self.client, self.adapter, self.mirror = client, adapter, mirror

    @property
    def selectors(self) -> tuple[str, ...]:
        return self.adapter.log_selectors(self.mirror)

    def owns(self, pod: Object) -> bool:
        """Whether a pod that a selector found is one of this mirror."""
        return self.adapter.pod_owner(pod) in ("", self.mirror.uid)

    async def list(self) -> list[Object]:
        """All of them, the oldest first; raises KubeError."""
        found: dict[str, Object] = {}
        for selector in self.selectors:
            listed = await self.client.list(PODS, self.mirror.namespace, label_selector=selector)
            found |= {pod.uid: pod for pod in listed.items if self.owns(pod)}
        return oldest_first(found.values())


def oldest_first(pods: Iterable[Object]) -> list[Object]:
    return sorted(pods, key=lambda pod: (pod.metadata.creation_timestamp or "", pod.name))


def has_started(pod: Object) -> bool:
    phase = (pod.decode().get("status") or {}).get("phase")
    return phase not in _NOT_STARTED


def container_names(pod: Object, chosen: str = "") -> list[str]:
    """All containers of a pod, or the chosen one if it has it, which may be an init container."""
    spec: dict[str, Any] = pod.decode()["spec"]
    named = [each["name"] for each in spec["containers"]]
    if not chosen:
        return named
    return [chosen] if chosen in (*named, *(each["name"] for each in spec.get("initContainers") or ())) else []


def index_of(pod: Object) -> str:
    """The completion index of a pod; empty if it has none."""
    return pod.metadata.labels.get(INDEX) or pod.metadata.annotations.get(INDEX, "")
