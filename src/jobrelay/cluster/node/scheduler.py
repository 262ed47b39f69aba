"""The scheduler: binds pods that wait to nodes that have room for them.

It follows pods and nodes through the shared caches and keeps a ledger of what each node has given away, with bindings counted as
soon as they are decided. Waiting pods are grouped by priority and demand. A pass goes through the groups, highest priority
first, and leaves a group at its first pod that finds no node, since all others of the group would find none either. The next
pass comes when a pod arrives, changes or frees something, or when a node changes.

A group that finds no node may push pods of lower priority aside (`preemption.py`). Its first pod is then nominated for the node: the room
there is kept from pods that come later in the order, and nobody else is pushed aside for it until the victims are gone.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec
import structlog

from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.controllers.context import Context
from jobrelay.cluster.node.demand import Demand, NodeInfo, Usage, demand_of, node_info
from jobrelay.cluster.node.placement import Placement, place
from jobrelay.cluster.node.preemption import NEVER, TERMINATING, Holder, Preemption, preempt
from jobrelay.kube import Client
from jobrelay.kube.clock import sleep
from jobrelay.kube.errors import Conflict, KubeError, NotFound
from jobrelay.kube.events import EventRecorder
from jobrelay.kube.objects import Key, Object
from jobrelay.kube.patch import strategic_patch
from jobrelay.kube.resource import NODES, PODS

log = structlog.get_logger(__name__)
NAME: Final = "default-scheduler"
_BATCH: Final = 64
_RETRY: Final = 1.0
_ENDED: Final = ("Succeeded", "Failed")


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""
    scheduler_name: str = NAME
    priority: int = 0
    scheduling_gates: list[Any] = []
    preemption_policy: str = ""


class _Status(msgspec.Struct, rename="camel"):
    phase: str = ""
    start_time: str = ""


class _Pod(msgspec.Struct):
    spec: _Spec
    status: _Status = msgspec.field(default_factory=_Status)


class _Whole(msgspec.Struct):
    spec: dict[str, Any]


class Group(NamedTuple):
    """Pods that fit or fail together; sorts by priority, highest first."""

    rank: int
    demand: Demand
    preempts: bool = True


class _Taken(NamedTuple):
    uid: str
    node: str
    demand: Demand
    priority: int = 0
    since: str = ""


class Scheduler:
    """Places pods that name no other scheduler."""

    name = "scheduler"

    def __init__(self, context: Context, client: Client, recorder: EventRecorder, *, tell_success: bool = True) -> None:
        self._client, self._clock = client, context.clock
        self._recorder = recorder
        self._tell_success = tell_success
        self._pods, self._nodes = context.cache(PODS), context.cache(NODES)
        self._infos: dict[str, NodeInfo] = {}
        self._usage: dict[str, Usage] = {}
        self._taken: dict[Key, _Taken] = {}
        self._groups: dict[Group, dict[Key, None]] = {}
        self._waiting: dict[Key, Group] = {}
        self._told: dict[Key, str] = {}
        self._priorities: Counter[int] = Counter()
        self._nominated: dict[Key, str] = {}
        self._wake = asyncio.Event()

    async def run(self) -> None:
        """Places pods until cancelled."""
        leave = [self._nodes.subscribe(self._node_changed), self._pods.subscribe(self._pod_changed)]
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                await self._pass()
        finally:
            for stop in leave:
                stop()

    # What the caches say.

    def _node_changed(self, old: Object | None, new: Object | None) -> None:
        if new is not None:
            info = node_info(new)
            if self._infos.get(new.name) != info:
                self._infos[new.name] = info
                self._wake.set()
        elif old is not None:
            self._infos.pop(old.name, None)

    def _pod_changed(self, old: Object | None, new: Object | None) -> None:
        if new is None:
            if old is not None:
                self._forget(old.key)
            return
        view = new.decode(_Pod)
        if view.spec.node_name:
            self._unqueue(new.key)
            if view.status.phase in _ENDED:
                self._free(new.key)
            else:
                self._take(new, view)
        elif self._mine(new, view):
            self._queue(new, view.spec)
        else:
            self._forget(new.key)

    def _mine(self, pod: Object, view: _Pod) -> bool:
        spec = view.spec
        waits = spec.scheduler_name == NAME and not spec.scheduling_gates and view.status.phase not in _ENDED
        return waits and not pod.deleting

    def _take(self, pod: Object, view: _Pod) -> None:
        node, known = view.spec.node_name, self._taken.get(pod.key)
        if known is not None and known[:2] == (pod.uid, node):
            return
        self._free(pod.key)
        demand = demand_of(pod.decode(_Whole).spec)
        self._assume(pod.key, _Taken(pod.uid, node, demand, view.spec.priority, view.status.start_time))

    def _assume(self, key: Key, taken: _Taken) -> None:
        self._taken[key] = taken
        self._priorities[taken.priority] += 1
        self._usage.setdefault(taken.node, Usage()).add(taken.demand)

    def _free(self, key: Key) -> None:
        taken = self._taken.pop(key, None)
        if taken is not None:
            self._usage[taken.node].add(taken.demand, -1)
            self._priorities[taken.priority] -= 1
            if self._waiting:
                self._wake.set()

    def _queue(self, pod: Object, spec: _Spec) -> None:
        taken = self._taken.get(pod.key)
        if taken is not None and taken.uid == pod.uid:
            return  # decided, and the cache has not heard of it yet
        self._free(pod.key)
        group = Group(-spec.priority, demand_of(pod.decode(_Whole).spec), spec.preemption_policy != "Never")
        if self._waiting.get(pod.key) == group:
            return
        self._unqueue(pod.key, keep_told=True)
        self._waiting[pod.key] = group
        self._groups.setdefault(group, {})[pod.key] = None
        self._wake.set()

    def _unqueue(self, key: Key, *, keep_told: bool = False) -> None:
        if not keep_told:
            self._told.pop(key, None)
            self._nominated.pop(key, None)
        group = self._waiting.pop(key, None)
        if group is None:
            return
        members = self._groups[group]
        members.pop(key, None)
        if not members:
            del self._groups[group]

    def _forget(self, key: Key) -> None:
        self._unqueue(key)
        self._free(key)

    # One pass over what waits.

    async def _pass(self) -> None:
        refused: dict[Key, str] = {}
        pushed: list[tuple[Key, Preemption]] = []
        reserved: list[tuple[str, Demand]] = []
        try:
            for chosen in self._batches(refused, pushed, reserved):
                await asyncio.gather(*(self._bind(key, taken) for key, taken in chosen))
        finally:
            for node, demand in reserved:
                self._usage[node].add(demand, -1)
        await asyncio.gather(
            *(self._evict(key, victim, found.node) for key, found in pushed for victim in found.victims)
        )
        news = [(key, message) for key, message in refused.items() if self._told.get(key) != message]
        for start in range(0, len(news), _BATCH):
            await asyncio.gather(*(self._refuse(*one) for one in news[start : start + _BATCH]))

    def _batches(
        self, refused: dict[Key, str], pushed: list[tuple[Key, Preemption]], reserved: list[tuple[str, Demand]]
    ) -> Iterator[list[tuple[Key, _Taken]]]:
        """Decides who goes where, a batch at a time; notes for the rest why not, and who is to be pushed aside."""
        chosen: list[tuple[Key, _Taken]] = []
        for group in sorted(self._groups, key=lambda group: group.rank):
            while members := self._groups.get(group):
                key = next(iter(members))
                pod = self._pods.get(key)
                found = place(group.demand, list(self._infos.values()), self._usage)
                if not found.node:
                    instead = self._preempt(key, group, found)
                    refused.update(dict.fromkeys(members, found.message(instead.why_not)))
                    if instead.victims:
                        pushed.append((key, instead))
                    if (node := self._nominated.get(key)) is not None and node in self._usage:
                        self._usage[node].add(group.demand)
                        reserved.append((node, group.demand))
                    break
                self._unqueue(key)
                if pod is None:
                    continue
                taken = _Taken(pod.uid, found.node, group.demand, -group.rank)
                self._assume(key, taken)
                chosen.append((key, taken))
                if len(chosen) == _BATCH:
                    yield chosen
                    chosen = []
        if chosen:
            yield chosen

    def _preempt(self, key: Key, group: Group, found: Placement) -> Preemption:
        """Whom a pod that was refused pushes aside, if anybody."""
        if not group.preempts:
            return Preemption(why_not=NEVER)
        lower = self._holders(-group.rank)
        nominated = self._nominated.get(key, "")
        if any((pod := self._pods.get(holder.key)) is not None and pod.deleting for holder in lower.get(nominated, ())):
            return Preemption(why_not=TERMINATING)
        instead = preempt(group.demand, found, self._infos, self._usage, lower)
        if instead.node:
            self._nominated[key] = instead.node
        else:
            self._nominated.pop(key, None)
        return instead

    def _holders(self, priority: int) -> dict[str, list[Holder]]:
        """The pods of lower priority on each node."""
        lower: dict[str, list[Holder]] = {}
        if not any(count and held < priority for held, count in self._priorities.items()):
            return lower
        for key, taken in self._taken.items():
            if taken.priority < priority:
                lower.setdefault(taken.node, []).append(Holder(key, taken.priority, taken.since, taken.demand))
        return lower

    async def _evict(self, key: Key, victim: Holder, node: str) -> None:
        """Pushes a pod aside for another: says so in its status, and deletes it."""
        pod, other = self._pods.get(victim.key), self._pods.get(key)
        if pod is None or other is None or pod.deleting:
            return
        condition = {
            "type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "lastProbeTime": None,
            "message": f"{NAME}: preempting to accommodate a higher priority pod",
            "lastTransitionTime": format_time(self._clock.now()), "observedGeneration": pod.metadata.generation or 1,
        }  # fmt: skip
        change = {"metadata": {"uid": pod.uid}, "status": {"conditions": [condition]}}
        try:
            await self._client.patch(PODS, pod.name, strategic_patch(change), pod.namespace, subresource="status")
            await self._client.delete(PODS, pod.name, pod.namespace, uid=pod.uid)
        except NotFound:
            return
        except KubeError as error:
            log.warning("a pod could not be preempted", pod=str(victim.key), error=str(error))
            return
        text = f"Preempted by pod {other.uid} on node {node}"
        self._recorder.event(pod, "Normal", "Preempted", text, action="Preempting", related=other)

    async def _bind(self, key: Key, taken: _Taken) -> None:
        binding = {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": key.name, "uid": taken.uid},
            "target": {"kind": "Node", "name": taken.node},
        }  # fmt: skip
        try:
            await self._client.create(PODS, binding, key.namespace, name=key.name, subresource="binding")
        except (Conflict, NotFound):
            self._again(key, taken)
        except KubeError as error:
            log.warning("binding failed", pod=str(key), node=taken.node, error=str(error))
            await sleep(self._clock, _RETRY)
            self._again(key, taken)
        else:
            pod = self._pods.get(key)
            if self._tell_success and pod is not None:
                text = f"Successfully assigned {key} to {taken.node}"
                self._recorder.event(pod, "Normal", "Scheduled", text, action="Binding")

    def _again(self, key: Key, taken: _Taken) -> None:
        """A binding failed: the pod is looked at as it is now."""
        if self._taken.get(key) == taken:
            self._free(key)
        pod = self._pods.get(key)
        if pod is not None:
            self._pod_changed(None, pod)

    async def _refuse(self, key: Key, message: str) -> None:
        """Writes down why a pod waits."""
        pod = self._pods.get(key)
        if pod is None or key not in self._waiting:
            return
        self._told[key] = message
        condition = {
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message,
            "lastProbeTime": None, "lastTransitionTime": format_time(self._clock.now()),
            "observedGeneration": pod.metadata.generation or 1,
        }  # fmt: skip
        status = {"conditions": [condition], "nominatedNodeName": self._nominated.get(key)}
        change = {"metadata": {"uid": pod.uid}, "status": status}
        self._recorder.event(pod, "Warning", "FailedScheduling", message, action="Scheduling")
        try:
            await self._client.patch(PODS, key.name, strategic_patch(change), key.namespace, subresource="status")
        except KubeError as error:
            log.debug("a reason could not be written", pod=str(key), error=str(error))
