"""Runtime `scripted`: pods that only simulate work, for tests, demos and scale.

One controller serves all nodes. A pod costs a `ScriptedPod` in memory, an entry in the timer heap of the work queue,
and one write whenever its status changes: usually one when it starts and one when it ends, or only one if both are due
together.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from jobrelay.cluster.node.script import parse_script
from jobrelay.cluster.node.scriptedpod import ScriptedPod
from jobrelay.cluster.node.status import ENDED, PodView
from jobrelay.control import Controller, ControllerContext, Result
from jobrelay.kube import Client
from jobrelay.kube.errors import NotFound
from jobrelay.kube.objects import Key, Object
from jobrelay.kube.patch import merge_patch
from jobrelay.kube.resource import PODS

WORKERS = 32
_BOUND: Final = b'"nodeName"'
_ENDED: Final = tuple(f'"{phase}"'.encode() for phase in ENDED)


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Status(msgspec.Struct):
    phase: str = ""


class _Metadata(msgspec.Struct, rename="camel"):
    deletion_grace_period_seconds: int | None = None


class _Pod(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec
    status: _Status = msgspec.field(default_factory=_Status)


class _PodWithStatus(msgspec.Struct):
    status: dict[str, Any] = {}


class _WholePod(msgspec.Struct):
    spec: dict[str, Any]
    status: dict[str, Any]


class ScriptedRuntime:
    """Runs the pods of some nodes by their scripts."""

    def __init__(self, context: ControllerContext, client: Client, nodes: Sequence[str]) -> None:
        self._client, self._clock = client, context.clock
        self._pods = context.cache(PODS)
        self._nodes = frozenset(nodes)
        self._running: dict[Key, ScriptedPod] = {}
        self.controller: Controller[Key] = Controller("scripted pods", self._sync, workers=WORKERS, clock=self._clock)
        self.controller.watch(self._pods, self._changed)

    def _changed(self, old: Object | None, new: Object | None) -> Iterable[Key]:
        if new is None:
            if old is not None:
                self._running.pop(old.key, None)
            return ()
        running = self._running.get(new.key)
        current = running is not None and running.uid == new.uid and not new.deleting
        if _BOUND not in new.raw or (current and not any(phase in new.raw for phase in _ENDED)):
            return ()  # not bound yet, or our own status write: not worth decoding
        view = new.decode(_Pod)
        if view.spec.node_name not in self._nodes:
            return ()
        ended = view.status.phase in ENDED
        if running is not None and current:
            due = ended and running.stage != "ended"  # somebody else ended the pod
        else:
            due = not ended or new.deleting or running is not None
        return (new.key,) if due else ()

    async def _sync(self, key: Key) -> Result | None:
        pod = self._pods.get(key)
        if pod is None:
            self._running.pop(key, None)
            return None
        view = pod.decode(_Pod)
        if view.spec.node_name not in self._nodes:
            return None
        if view.status.phase in ENDED:
            self._running.pop(key, None)
            if pod.deleting and view.metadata.deletion_grace_period_seconds != 0:
                await self._delete(pod)
            return None
        try:
            return await self._advance(pod, view.metadata.deletion_grace_period_seconds)
        except NotFound:
            self._running.pop(key, None)
            return None

    async def _advance(self, pod: Object, grace: int | None) -> Result | None:
        now = self._clock.monotonic()
        running = self._running.get(pod.key)
        if running is None or running.uid != pod.uid:
            running = self._running[pod.key] = self._start(pod, now)
        if pod.deleting:
            running.stop(now + min(running.script.stop, grace or 0))
        running.advance(now, self._clock.now())
        if running.changed and not (pod.deleting and running.stage == "ended" and not pod.metadata.finalizers):
            known = {"uid": pod.uid, "resourceVersion": pod.resource_version}
            change = merge_patch({"metadata": known, "status": self._status(pod, running)})
            await self._client.patch(PODS, pod.name, change, pod.namespace, subresource="status")
        running.status_written()
        if running.stage == "ended":
            self._running.pop(pod.key, None)
            if pod.deleting:
                await self._delete(pod)
            return None
        due = running.next_due()
        return None if due == math.inf else Result(requeue_after=max(due - self._clock.monotonic(), 0))

    def _status(self, pod: Object, running: ScriptedPod) -> dict[str, Any]:
        """The status to write. It includes the conditions of others, because a merge patch replaces lists."""
        status = running.status(self._clock.now())
        own = {condition["type"] for condition in status["conditions"]}
        known = pod.decode(_PodWithStatus).status.get("conditions") or ()
        others = [condition for condition in known if condition["type"] not in own]
        return {**status, "conditions": [*status["conditions"], *others]}

    def _start(self, pod: Object, now: float) -> ScriptedPod:
        whole = pod.decode(_WholePod)
        status = whole.status
        script = parse_script(pod.metadata.annotations, whole.spec.get("restartPolicy", "Always"))
        view = PodView(
            whole.spec, pod.metadata.generation or 1, status.get("conditions") or (), status.get("startTime", "")
        )
        made = ScriptedPod.of(pod.uid, view, script, now)
        if status.get("phase") == "Running" and view.start_time:
            since = self._clock.now() - dt.datetime.fromisoformat(view.start_time)
            made.resume(status, now, max(since.total_seconds(), 0.0))
        return made

    async def _delete(self, pod: Object) -> None:
        """Confirms the deletion of a pod of which nothing runs any more."""
        with suppress(NotFound):
            await self._client.delete(PODS, pod.name, pod.namespace, grace_period=0, uid=pod.uid)
