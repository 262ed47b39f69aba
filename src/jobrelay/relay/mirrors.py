"""One worker's side of the relay: creates, changes and removes mirrors there.

Each worker has its own `Mirrors`, with its own queue and its own few requests at a time, so a worker that hangs holds up
nothing but its own mirrors. Refusals are told apart from failures: a refusal is the worker's answer and sends the
workload elsewhere; a failure may pass, and is tried again a few times before it counts as one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256
from typing import Any

import structlog

from jobrelay.control import Controller, Result, WorkQueue
from jobrelay.kube import (
    AlreadyExists,
    Conflict,
    EventNote,
    EventRecorder,
    KubeError,
    NotFound,
    Object,
    StatusError,
    Unauthorized,
    merge_patch,
)
from jobrelay.kube.objects import Key
from jobrelay.kube.resource import NAMESPACES
from jobrelay.relay.assignment import epoch_of
from jobrelay.relay.knowledge import Kind, Knowledge
from jobrelay.relay.metrics import RelayMetrics
from jobrelay.relay.model import Refusal
from jobrelay.relay.names import ORIGIN, ORIGIN_UID
from jobrelay.relay.originals import PUT_OFF, Task
from jobrelay.relay.situation import Mirror, Situation
from jobrelay.relay.tend import Create, Delete, Tending, Update, marks, tend, unclaimed
from jobrelay.relay.workers import WorkerLink

__all__ = ["Mirrors", "mirror_name"]

log = structlog.get_logger(__name__)

_FIELD_MANAGER = "jobrelay"
_AT_ONCE = 16
_TRIES = 5
_SOON = 5.0
_LONGEST_NAME = 63


def mirror_name(key: Key, *, own_cluster: bool) -> str:
    """What the mirror of a workload is called; on the management cluster itself the name is taken."""
    if not own_cluster:
        return key.name
    suffix = f"-relay-{sha256(str(key).encode()).hexdigest()[:8]}"
    return key.name[: _LONGEST_NAME - len(suffix)].rstrip("-.") + suffix


class Mirrors:
    """Tends the mirrors on one worker. `look` has the originals' side look at a workload."""

    def __init__(
        self,
        knowledge: Knowledge,
        link: WorkerLink,
        recorder: EventRecorder,
        metrics: RelayMetrics,
        *,
        look: Callable[[Task], None],
        leads: Callable[[], bool],
        grace: float,
    ) -> None:
        self._known, self._link, self._recorder, self._metrics = knowledge, link, recorder, metrics
        self._look, self._leads = look, leads
        self._probes: set[Task] = set()
        self._asking: dict[str, dict[Task, None]] = {}
        clock = knowledge.clock
        queue: WorkQueue[Task] = WorkQueue(clock=clock, base_delay=0.2, max_delay=30.0)
        name = f"mirrors on {link.name}"
        self.controller = Controller(name, self.reconcile, workers=_AT_ONCE, queue=queue, clock=clock, grace=grace)

    @property
    def _shapes(self) -> dict[str, Refusal | None]:
        return self._known.shapes.setdefault(self._link.name, {})

    @property
    def backlog(self) -> int:
        """How many workloads wait to be looked at, or for the worker's answer."""
        queue = self.controller.queue
        return len(queue) + queue.processing

    def tend(self, task: Task, *, priority: int = 0) -> None:
        """Have a mirror looked at."""
        self.controller.queue.add(task, priority=priority)

    def probe(self, task: Task) -> None:
        """Ask the worker whether it would take this workload, and have the originals' side look again after."""
        self._probes.add(task)
        self.controller.queue.add(task)

    async def reconcile(self, task: Task) -> Result | None:
        if not self._link.connected:
            return None  # looked at again when it is back
        if not self._leads():
            return PUT_OFF
        kind = self._known.kinds[task.kind]
        obj = kind.originals.get(task.key)
        if obj is not None and task in self._probes:
            self._probes.discard(task)
            await self._ask(task, self._known.situation(kind, obj))
            return None
        name = mirror_name(task.key, own_cluster=self._link.is_self)
        found = self._link.mirrors[kind.adapter.resource].get(Key(task.key.namespace, name))
        situation = self._known.situation(kind, obj) if obj is not None else None
        step = self._step(kind, situation, found, name)
        await self._carry_out(task, situation, step)
        return Result(requeue_after=step.look_again) if step.look_again is not None else None

    def _step(self, kind: Kind, situation: Situation | None, found: Object | None, name: str) -> Tending:
        uid = found.metadata.annotations.get(ORIGIN_UID) if found is not None else None
        if found is not None and uid and (situation is None or situation.obj.uid != uid):
            return unclaimed(Mirror(self._link.name, found, kind.adapter.read(found), epoch_of(found)))
        if situation is None:
            return Tending()
        return tend(situation, self._link.name, name)

    async def _carry_out(self, task: Task, situation: Situation | None, step: Tending) -> None:
        match step.act:
            case Create(body):
                assert situation is not None
                await self._create(task, situation, dict(body))
            case Update(mirror, patch):
                assert situation is not None
                await self._update(task, situation, mirror, dict(patch))
            case Delete():
                await self._delete(task, step.act)

    # Asking

    async def _ask(self, task: Task, situation: Situation) -> None:
        """One dry run per shape at a time; others of the shape wait for its answer."""
        shape = situation.demand.shape
        waiting = self._asking.get(shape)
        if waiting is not None:
            waiting[task] = None
            return
        self._asking[shape] = {task: None}
        try:
            await self._dry_run(task, situation)
        finally:
            for each in self._asking.pop(shape):
                self._look(each)

    async def _dry_run(self, task: Task, situation: Situation) -> None:
        name = mirror_name(task.key, own_cluster=self._link.is_self)
        body = situation.adapter.mirror(situation.obj, marks(situation, None, name))
        resource, shape = situation.adapter.resource, situation.demand.shape
        try:
            await self._prepare_namespace(task.key.namespace)
            await self._link.client.create(resource, body, dry_run=True, field_manager=_FIELD_MANAGER)
        except AlreadyExists:
            self._shapes[shape] = None  # the name is taken, the shape is fine; creating it will tell whose it is
        except StatusError as error:
            self._refused(situation, error, alike=True)
        except KubeError as error:
            self._refused(situation, error, alike=True, ask_again=_SOON)
        else:
            self._shapes[shape] = None

    async def _prepare_namespace(self, namespace: str) -> None:
        if not self._known.settings.create_namespaces or self._link.is_self or namespace in self._link.namespaces:
            return
        with suppress(AlreadyExists):
            await self._link.client.create(NAMESPACES, {"metadata": {"name": namespace}}, field_manager=_FIELD_MANAGER)
        self._link.namespaces.add(namespace)

    # Creating

    async def _create(self, task: Task, situation: Situation, body: dict[str, Any]) -> None:
        resource, obj = situation.adapter.resource, situation.obj
        memory = self._known.memories.of(obj.uid)
        epoch = situation.assignment.epoch if situation.assignment is not None else 0
        try:
            created = await self._link.client.create(resource, body, field_manager=_FIELD_MANAGER)
        except AlreadyExists:
            await self._examine(task, situation, body["metadata"]["name"])
            return
        except (Conflict, Unauthorized):
            raise
        except StatusError as error:
            if error.code >= 500 or error.code == 429:
                self._may_pass(task, situation, error)
                raise
            self._refused(situation, error, alike=True)
            self._look(task)
            return
        except KubeError as error:
            self._may_pass(task, situation, error)
            raise
        again = memory.created == epoch
        memory.created, memory.failures, memory.trouble = epoch, 0, ""
        self._metrics.mirrors.labels(self._link.name, "create", "success").inc()
        self._link.mirrors[resource].observe(created)
        note = f"Mirror created {'again ' if again else ''}on {self._link.name}"
        self._recorder.record(obj, [EventNote("MirrorCreated", note, "Warning" if again else "Normal")])

    def _may_pass(self, task: Task, situation: Situation, error: KubeError) -> None:
        """Notes a failure; too many of them count as a refusal."""
        memory = self._known.memories.of(situation.obj.uid)
        memory.failures, memory.trouble = memory.failures + 1, str(error)
        self._metrics.mirrors.labels(self._link.name, "create", "error").inc()
        if memory.failures >= _TRIES:
            memory.failures = 0
            self._refused(situation, error, alike=False)
            self._look(task)

    async def _examine(self, task: Task, situation: Situation, name: str) -> None:
        """The name is taken: by our own mirror whose creation we did not hear of, or by something of others."""
        resource = situation.adapter.resource
        found = await self._link.client.get(resource, name, task.key.namespace)
        marked = found.metadata.labels.get(ORIGIN) == self._known.settings.origin
        uid = found.metadata.annotations.get(ORIGIN_UID)
        if marked and uid:
            self._link.mirrors[resource].observe(found)
            self.tend(task)
            return
        if uid == situation.obj.uid:
            self._unmarked(task, situation, found)
            return
        message = f"there is a {resource.kind} {task.key.namespace}/{name} that is not ours, and it is left alone"
        self._refuse(situation, message, "foreign", alike=False)
        self._look(task)

    def _unmarked(self, task: Task, situation: Situation, found: Object) -> None:
        """Our mirror, but someone took its origin label away: it is not touched, and nothing is started beside it."""
        where = f"{found.namespace}/{found.name} on {self._link.name}"
        message = f"someone removed the label {ORIGIN} from {where}; put it back, or delete that object"
        self._known.memories.of(situation.obj.uid).trouble = message
        self._recorder.record(situation.obj, [EventNote("MirrorUnmarked", message, "Warning")])
        self.controller.queue.add_after(task, self._known.settings.ask_again)

    def _refused(self, situation: Situation, error: KubeError, *, alike: bool, ask_again: float | None = None) -> None:
        reason = error.status.reason if isinstance(error, StatusError) else type(error).__name__
        self._refuse(situation, str(error), reason, alike=alike, ask_again=ask_again)

    def _refuse(
        self, situation: Situation, message: str, reason: str, *, alike: bool, ask_again: float | None = None
    ) -> None:
        wait = self._known.settings.ask_again if ask_again is None else ask_again
        refusal = Refusal(message, self._known.now() + timedelta(seconds=wait))
        self._known.memories.of(situation.obj.uid).refusals[self._link.name] = refusal
        if alike:
            self._shapes[situation.demand.shape] = refusal
        self._metrics.refusals.labels(self._link.name, reason).inc()
        self._recorder.record(situation.obj, [EventNote("Refused", f"{self._link.name}: {message}", "Warning")])

    # Changing and removing

    async def _update(self, task: Task, situation: Situation, mirror: Mirror, patch: dict[str, Any]) -> None:
        memory = self._known.memories.of(situation.obj.uid)
        version = f"{situation.obj.metadata.generation}/{mirror.obj.metadata.generation}"
        if memory.unforwarded == version:
            return
        resource, name = situation.adapter.resource, mirror.obj.name
        change = {**patch, "metadata": {**patch.get("metadata", {}), "uid": mirror.obj.uid}}
        try:
            new = await self._link.client.patch(
                resource, name, merge_patch(change), task.key.namespace, field_manager=_FIELD_MANAGER
            )
        except (NotFound, Conflict):
            return  # the watch will say what became of it
        except StatusError as error:
            if error.code >= 500 or error.code == 429 or isinstance(error, Unauthorized):
                raise
            memory.unforwarded = version
            memory.trouble = str(error)
            self._metrics.mirrors.labels(self._link.name, "update", "refused").inc()
            note = f"{self._link.name} refused a change of the mirror: {error}"
            self._recorder.record(situation.obj, [EventNote("ForwardRefused", note, "Warning")])
            return
        self._metrics.mirrors.labels(self._link.name, "update", "success").inc()
        self._link.mirrors[resource].observe(new)

    async def _delete(self, task: Task, step: Delete) -> None:
        mirror = step.mirror
        resource = self._known.kinds[task.kind].adapter.resource
        log.info("removing a mirror", worker=self._link.name, mirror=str(mirror.obj.key), why=step.why)
        try:
            await self._link.client.delete(
                resource,
                mirror.obj.name,
                mirror.obj.namespace,
                propagation=step.propagation,
                uid=mirror.obj.uid,
            )
        except (NotFound, Conflict):
            return  # gone, or another object by now; the watch will say which
        self._metrics.mirrors.labels(self._link.name, "delete", "success").inc()
        self._metrics.sweeps.labels(self._link.name).inc()
