"""What the containers of one pod share: the pod, its host, its files, its events, and whether it is being stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from jobrelay.cluster.node.process.host import PodHost, ReferencedObjects
from jobrelay.cluster.node.process.logs import PodLogs
from jobrelay.cluster.node.process.volumes import MountSource
from jobrelay.kinds.core.pod.status import may_restart
from jobrelay.kinds.strategy import Obj
from jobrelay.kube.clock import sleep
from jobrelay.kube.events import ObjectReference


class PodSandbox:
    """The surroundings of a pod's containers; `changed` has the pod's status written."""

    def __init__(self, host: PodHost, pod: Obj) -> None:
        self.host, self.object = host, pod
        self.uid: str = pod["metadata"]["uid"]
        self.folder = host.pod_folder(self.uid)
        self.logs = PodLogs(self.folder / "logs")
        self.objects = ReferencedObjects(host.client, host.clock, pod["metadata"]["namespace"])
        self.mount_sources: dict[str, MountSource] = {}
        self.stopping = asyncio.Event()
        self.grace: int = pod["spec"].get("terminationGracePeriodSeconds") or 0
        self._dirty = asyncio.Event()

    def changed(self) -> None:
        """Has the status written."""
        self._dirty.set()

    def event(self, reason: str, text: str, container: str = "") -> None:
        self._record("Normal", reason, text, container)

    def warn(self, reason: str, text: str, container: str = "") -> None:
        self._record("Warning", reason, text, container)

    def _record(self, kind: Any, reason: str, text: str, container: str) -> None:
        metadata, inits = self.object["metadata"], self.object["spec"].get("initContainers") or ()
        listed = "initContainers" if any(one["name"] == container for one in inits) else "containers"
        part = f"spec.{listed}{{{container}}}" if container else ""
        about = ObjectReference("v1", "Pod", metadata["name"], metadata["namespace"], self.uid, part)
        self.host.recorder.event(about, kind, reason, text, action=reason)

    async def pause(self, seconds: float) -> None:
        """Sleeps, but not longer than until the pod is stopped."""
        waiting = [asyncio.ensure_future(sleep(self.host.clock, seconds)), asyncio.ensure_future(self.stopping.wait())]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()

    def restarts(self, container: Mapping[str, Any], code: int, until_success: bool) -> bool:
        """Whether a container that ended with this exit code is restarted."""
        if until_success and code == 0:
            return False
        return may_restart(container, self.object["spec"], code)
