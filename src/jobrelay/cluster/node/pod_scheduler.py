"""The scheduler: binds pending pods to nodes that have room for them.

It follows pods and nodes through the shared caches. A pass goes through the equivalence classes of pending pods,
highest priority first, and leaves a class at its first pod that finds no node, since the others would find none either.
The next pass follows when a pod arrives, changes or frees resources, or when a node changes.

A class that finds no node may preempt pods of lower priority (`preemption.py`). Its first pod is then nominated for the
node: the resources there are reserved from pods that come later in the order, and no further pods are preempted for it
until the victims are gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.node.nodechoice import NodeChoice
from jobrelay.cluster.node.nodeinfo import AssignedPod, claim_names, node_info, pod_demand
from jobrelay.cluster.node.preemption import NEVER, TERMINATING, PreemptionResult
from jobrelay.cluster.node.schedulercache import SchedulerCache
from jobrelay.cluster.node.schedulingqueue import EquivalenceClass, SchedulingQueue
from jobrelay.control import ControllerContext
from jobrelay.kube import Client
from jobrelay.kube.clock import sleep
from jobrelay.kube.errors import Conflict, KubeError, NotFound
from jobrelay.kube.events import EventRecorder
from jobrelay.kube.objects import Key, Object
from jobrelay.kube.patch import strategic_patch
from jobrelay.kube.resource import NODES, PERSISTENTVOLUMECLAIMS, PODS
from jobrelay.logs import get_logger

log = get_logger(__name__)
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


class _PodWithSpec(msgspec.Struct):
    spec: dict[str, Any]


class PodScheduler:
    """Schedules the pods that name no other scheduler."""

    name = "scheduler"

    def __init__(
        self, context: ControllerContext, client: Client, recorder: EventRecorder, *, record_success: bool = True
    ) -> None:
        self._client, self._clock = client, context.clock
        self._recorder, self._record_success = recorder, record_success
        self._pods, self._nodes = context.cache(PODS), context.cache(NODES)
        self._claims = context.cache(PERSISTENTVOLUMECLAIMS)
        self._cache, self._queue = SchedulerCache(), SchedulingQueue()
        self._messages: dict[Key, str] = {}  # why each pending pod was last said to be unschedulable
        self._nominated: dict[Key, str] = {}
        self._wake = asyncio.Event()

    async def run(self) -> None:
        """Schedules pods until cancelled."""
        subscriptions = [
            self._nodes.subscribe(self._node_changed),
            self._pods.subscribe(self._pod_changed),
            self._claims.subscribe(self._claim_changed),
        ]
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                await self._pass()
        finally:
            for unsubscribe in subscriptions:
                unsubscribe()

    # Changes of nodes and pods.

    def _node_changed(self, old: Object | None, new: Object | None) -> None:
        if new is not None:
            if self._cache.update_node(node_info(new)):
                self._wake.set()
        elif old is not None:
            self._cache.remove_node(old.name)

    def _claim_changed(self, old: Object | None, new: Object | None) -> None:
        if self._queue:
            self._wake.set()

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
                self._assign(new, view)
        elif self._is_schedulable(new, view):
            self._enqueue(new, view.spec)
        else:
            self._forget(new.key)

    def _is_schedulable(self, pod: Object, view: _Pod) -> bool:
        spec = view.spec
        waits = spec.scheduler_name == NAME and not spec.scheduling_gates and view.status.phase not in _ENDED
        return waits and not pod.deleting

    def _assign(self, pod: Object, view: _Pod) -> None:
        node, known = view.spec.node_name, self._cache.assigned(pod.key)
        if known is not None and (known.uid, known.node) == (pod.uid, node):
            return
        self._free(pod.key)
        demand = pod_demand(pod.decode(_PodWithSpec).spec)
        self._cache.assume(AssignedPod(pod.key, pod.uid, node, demand, view.spec.priority, view.status.start_time))

    def _free(self, key: Key) -> None:
        if self._cache.forget(key) and self._queue:
            self._wake.set()

    def _enqueue(self, pod: Object, spec: _Spec) -> None:
        assigned = self._cache.assigned(pod.key)
        if assigned is not None and assigned.uid == pod.uid:
            return  # assumed; the cache of pods does not show the binding yet
        self._free(pod.key)
        whole = pod.decode(_PodWithSpec).spec
        claims = tuple(Key(pod.namespace, name) for name in claim_names(whole))
        group = EquivalenceClass(spec.priority, pod_demand(whole), spec.preemption_policy != "Never", claims)
        if self._queue.add(pod.key, group):
            self._wake.set()

    def _unqueue(self, key: Key) -> None:
        self._messages.pop(key, None)
        self._nominated.pop(key, None)
        self._queue.remove(key)

    def _forget(self, key: Key) -> None:
        self._unqueue(key)
        self._free(key)

    # One pass over the pending pods.

    async def _pass(self) -> None:
        unschedulable: dict[Key, str] = {}
        preemptions: list[tuple[Key, PreemptionResult]] = []
        try:
            for batch in self._batches(unschedulable, preemptions):
                await asyncio.gather(*(self._bind(pod) for pod in batch))
        finally:
            self._cache.release_reservations()
        await asyncio.gather(*(self._evict(key, victim) for key, found in preemptions for victim in found.victims))
        news = [(key, message) for key, message in unschedulable.items() if self._messages.get(key) != message]
        for start in range(0, len(news), _BATCH):
            await asyncio.gather(*(self._report_unschedulable(*one) for one in news[start : start + _BATCH]))

    def _batches(
        self, unschedulable: dict[Key, str], preemptions: list[tuple[Key, PreemptionResult]]
    ) -> Iterator[list[AssignedPod]]:
        """Chooses nodes, a batch of pods at a time; collects why the rest fit nowhere, and what to preempt for them."""
        batch: list[AssignedPod] = []
        for group in self._queue.by_priority():
            while members := self._queue.members(group):
                key = next(iter(members))
                problem = self._claim_problem(group.claims)
                choice = self._cache.refuse(problem) if problem else self._cache.choose(group.demand)
                if not choice.node:
                    preemption = self._preempt(key, group, choice)
                    unschedulable.update(dict.fromkeys(members, choice.message(preemption.why_not)))
                    if preemption.victims:
                        preemptions.append((key, preemption))
                    self._cache.reserve(self._nominated.get(key, ""), group.demand)
                    break
                self._unqueue(key)
                if (pod := self._pods.get(key)) is None:
                    continue
                assigned = AssignedPod(key, pod.uid, choice.node, group.demand, group.priority)
                self._cache.assume(assigned)
                batch.append(assigned)
                if len(batch) == _BATCH:
                    yield batch
                    batch = []
        if batch:
            yield batch

    def _claim_problem(self, claims: tuple[Key, ...]) -> str:
        """Why the pods cannot use a claim that they name; empty if they can use all."""
        for key in claims:
            claim = self._claims.get(key)
            if claim is None:
                return f'persistentvolumeclaim "{key.name}" not found'
            if claim.deleting:
                return f'persistentvolumeclaim "{key.name}" is being deleted'
        return ""

    def _preempt(self, key: Key, group: EquivalenceClass, choice: NodeChoice) -> PreemptionResult:
        """Decides about preemption for a pod that fits nowhere, and nominates it for the node."""
        if not group.preempts:
            return PreemptionResult(why_not=NEVER)
        lower = self._cache.lower_pods(group.priority)
        nominated = self._nominated.get(key, "")
        if any((pod := self._pods.get(other.key)) is not None and pod.deleting for other in lower.get(nominated, ())):
            return PreemptionResult(why_not=TERMINATING)
        found = self._cache.preempt(group.demand, choice, lower)
        if found.node:
            self._nominated[key] = found.node
        else:
            self._nominated.pop(key, None)
        return found

    async def _evict(self, key: Key, victim: AssignedPod) -> None:
        """Marks a victim as disrupted and deletes it, to make room for the pod of that key."""
        pod, preemptor = self._pods.get(victim.key), self._pods.get(key)
        if pod is None or preemptor is None or pod.deleting:
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
            log.warning("preemption failed", pod=str(victim.key), error=str(error))
            return
        text = f"Preempted by pod {preemptor.uid} on node {victim.node}"
        self._recorder.event(pod, "Normal", "Preempted", text, action="Preempting", related=preemptor)

    async def _bind(self, assigned: AssignedPod) -> None:
        key = assigned.key
        binding = {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": key.name, "uid": assigned.uid},
            "target": {"kind": "Node", "name": assigned.node},
        }  # fmt: skip
        try:
            await self._client.create(PODS, binding, key.namespace, name=key.name, subresource="binding")
        except (Conflict, NotFound):
            self._binding_failed(assigned)
        except KubeError as error:
            log.warning("binding failed", pod=str(key), node=assigned.node, error=str(error))
            await sleep(self._clock, _RETRY)
            self._binding_failed(assigned)
        else:
            pod = self._pods.get(key)
            if self._record_success and pod is not None:
                text = f"Successfully assigned {key} to {assigned.node}"
                self._recorder.event(pod, "Normal", "Scheduled", text, action="Binding")

    def _binding_failed(self, assigned: AssignedPod) -> None:
        """Handles the pod again as it is now."""
        if self._cache.assigned(assigned.key) == assigned:
            self._free(assigned.key)
        pod = self._pods.get(assigned.key)
        if pod is not None:
            self._pod_changed(None, pod)

    async def _report_unschedulable(self, key: Key, message: str) -> None:
        """Writes to a pending pod why no node fits it."""
        pod = self._pods.get(key)
        if pod is None or key not in self._queue:
            return
        self._messages[key] = message
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
            log.debug("the PodScheduled condition could not be written", pod=str(key), error=str(error))
