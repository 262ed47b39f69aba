"""Runtime `scripted`: pods that only pretend, for tests, demos and scale.

One controller serves all nodes. A pod costs a `ScriptedPod` in memory and an entry in the work queue's timer heap, and one write for
each moment at which something shows: usually one when it starts and one when it ends, or one alone if that is the same moment.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from jobrelay.cluster.controllers.context import ControllerContext
from jobrelay.cluster.node.script import parse_script
from jobrelay.cluster.node.scriptedpod import ScriptedPod, resume
from jobrelay.cluster.node.status import ENDED, PodView
from jobrelay.control import Controller, Result
from jobrelay.kube import Client
from jobrelay.kube.errors import NotFound
from jobrelay.kube.objects import Key, Object
from jobrelay.kube.patch import merge_patch
from jobrelay.kube.resource import PODS

WORKERS = 32


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


class _ConditionList(msgspec.Struct):
    conditions: list[dict[str, Any]] = []


class _Conditions(msgspec.Struct):
    status: _ConditionList = msgspec.field(default_factory=_ConditionList)


class _Whole(msgspec.Struct):
    spec: dict[str, Any]
    status: dict[str, Any]


class ScriptedRuntime:
    """Lives the lives of the pods on some nodes."""

    def __init__(self, context: ControllerContext, client: Client, nodes: Sequence[str]) -> None:
        self._client, self._clock = client, context.clock
        self._pods = context.cache(PODS)
        self._nodes = frozenset(nodes)
        self._lives: dict[Key, ScriptedPod] = {}
        self.controller: Controller[Key] = Controller("scripted pods", self._look, workers=WORKERS, clock=self._clock)
        self.controller.watch(self._pods, self._concerns)

    def _concerns(self, old: Object | None, new: Object | None) -> Iterable[Key]:
        if new is None:
            if old is not None:
                self._lives.pop(old.key, None)
            return ()
        view, known = new.decode(_Pod), self._lives.get(new.key)
        if view.spec.node_name not in self._nodes:
            return ()
        if new.deleting or (known is not None and known.uid != new.uid):
            return (new.key,)
        ended = view.status.phase in ENDED
        # A pod that is being played only has to be looked at again if somebody else has ended it.
        return (new.key,) if ended == (known is not None and known.stage != "ended") else ()

    async def _look(self, key: Key) -> Result | None:
        pod = self._pods.get(key)
        if pod is None:
            self._lives.pop(key, None)
            return None
        view = pod.decode(_Pod)
        if view.spec.node_name not in self._nodes:
            return None
        if view.status.phase in ENDED:
            self._lives.pop(key, None)
            if pod.deleting and view.metadata.deletion_grace_period_seconds != 0:
                await self._delete(pod)
            return None
        try:
            return await self._live(pod, view.metadata.deletion_grace_period_seconds)
        except NotFound:
            self._lives.pop(key, None)
            return None

    async def _live(self, pod: Object, grace: int | None) -> Result | None:
        now = self._clock.monotonic()
        life = self._lives.get(pod.key)
        if life is None or life.uid != pod.uid:
            life = self._lives[pod.key] = self._begin(pod, now)
        if pod.deleting:
            life.stop(now + min(life.script.stop, grace or 0))
        life.advance(now, self._clock.now())
        if life.changed and not (pod.deleting and life.stage == "ended" and not pod.metadata.finalizers):
            known = {"uid": pod.uid, "resourceVersion": pod.resource_version}
            change = merge_patch({"metadata": known, "status": self._status(pod, life)})
            await self._client.patch(PODS, pod.name, change, pod.namespace, subresource="status")
        life.changed = False
        if life.stage == "ended":
            self._lives.pop(pod.key, None)
            if pod.deleting:
                await self._delete(pod)
            return None
        due = life.next_due()
        return None if due == math.inf else Result(requeue_after=max(due - self._clock.monotonic(), 0))

    def _status(self, pod: Object, life: ScriptedPod) -> dict[str, Any]:
        """The status to write, with the conditions that others have put there: a merge patch replaces lists."""
        status = life.status(self._clock.now())
        own = {condition["type"] for condition in status["conditions"]}
        others = [each for each in pod.decode(_Conditions).status.conditions if each["type"] not in own]
        return {**status, "conditions": [*status["conditions"], *others]}

    def _begin(self, pod: Object, now: float) -> ScriptedPod:
        whole = pod.decode(_Whole)
        status = whole.status
        script = parse_script(pod.metadata.annotations, whole.spec.get("restartPolicy", "Always"))
        view = PodView(
            whole.spec, pod.metadata.generation or 1, status.get("conditions") or (), status.get("startTime", "")
        )
        life = ScriptedPod.of(pod.uid, view, script, now)
        if status.get("phase") == "Running" and view.start_time:
            since = self._clock.now() - dt.datetime.fromisoformat(view.start_time)
            resume(life, status, now, max(since.total_seconds(), 0.0))
        return life

    async def _delete(self, pod: Object) -> None:
        """The last word about a pod that was to go: nothing of it runs any more."""
        try:
            await self._client.delete(PODS, pod.name, pod.namespace, grace_period=0, uid=pod.uid)
        except NotFound:
            return
