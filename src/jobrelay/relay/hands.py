"""The workers' side of the relay: one `Mirrors` for each worker, coming and going with the registry.

This is also where events on workers are turned into work: a mirror that changed is looked at by its original's side, a
mirror that is gone may let another begin, a worker that returns has everything on it compared with what should be there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import NamedTuple

import structlog

from jobrelay.kube import EventRecorder, Object
from jobrelay.relay.assignment import assignment_of, epoch_of
from jobrelay.relay.echoes import Echoes
from jobrelay.relay.knowledge import Kind, Knowledge, origin_key
from jobrelay.relay.metrics import RelayMetrics
from jobrelay.relay.mirrors import Mirrors
from jobrelay.relay.names import ORIGIN_UID
from jobrelay.relay.originals import Originals, Task
from jobrelay.relay.workers import WorkerLink

__all__ = ["ASSIGNED", "Hands", "assigned_cluster"]

log = structlog.get_logger(__name__)

ASSIGNED = "assigned"
_URGENT = 10


def assigned_cluster(obj: Object) -> Iterator[str]:
    """Index of originals by the worker they are assigned to."""
    to = assignment_of(obj)
    if to is not None:
        yield to.cluster


class _Starting(NamedTuple):
    """Whose mirror it is, and how many pods it has."""

    origin_uid: str
    pods: int


class _Hand:
    """One worker: its mirrors' controller, and what to undo when it goes."""

    def __init__(self, link: WorkerLink, mirrors: Mirrors) -> None:
        self.link, self.mirrors = link, mirrors
        self.connected = False
        self.tasks: list[asyncio.Task[None]] = []
        self.echoes: asyncio.Task[None] | None = None
        self.undo: list[Callable[[], None]] = []
        self.starting: dict[str, _Starting] = {}
        """Mirrors by uid that have started, but whose pods the worker does not show on nodes yet."""

    def listen(self, echoes: Echoes) -> None:
        """Hear of its warnings while it is connected."""
        self.silence()
        self.echoes = asyncio.create_task(echoes.run(), name=f"events of {self.link.name}")

    def silence(self) -> None:
        if self.echoes is not None:
            self.echoes.cancel()
            self.echoes = None


class Hands:
    """Keeps one hand on every worker."""

    def __init__(
        self,
        knowledge: Knowledge,
        recorder: EventRecorder,
        metrics: RelayMetrics,
        *,
        leads: Callable[[], bool],
        grace: float,
    ) -> None:
        self._known, self._recorder, self._metrics = knowledge, recorder, metrics
        self._leads, self._grace = leads, grace
        self._hands: dict[str, _Hand] = {}
        self._originals: Originals | None = None

    def join(self, originals: Originals) -> None:
        """Tells who looks at originals."""
        self._originals = originals

    def nudge(self, task: Task, worker: str) -> None:
        """Have a worker's side look at a workload."""
        hand = self._hands.get(worker)
        if hand is not None:
            hand.mirrors.tend(task)

    def probe(self, task: Task, worker: str) -> None:
        """Ask a worker about a workload."""
        hand = self._hands.get(worker)
        if hand is not None:
            hand.mirrors.probe(task)

    def backlog(self, worker: str) -> int:
        """How many workloads a worker's side has yet to look at."""
        hand = self._hands.get(worker)
        return hand.mirrors.backlog if hand is not None else 0

    async def run(self) -> None:
        """Tends all workers until cancelled."""
        stop = self._known.registry.subscribe(self._registered)
        try:
            for name in list(self._known.registry.links):
                self._registered(name)
            await asyncio.Event().wait()
        finally:
            stop()
            tasks = [task for hand in self._hands.values() for task in hand.tasks]
            for name in list(self._hands):
                self._take_away(name)
            if tasks:
                await asyncio.wait(tasks)

    # Workers come and go.

    def _registered(self, name: str) -> None:
        link, hand = self._known.registry.links.get(name), self._hands.get(name)
        if hand is not None and hand.link is not link:
            self._take_away(name)
        if link is not None and name not in self._hands:
            self._lay_on(link)
        self._all_assigned(name)
        self._see_originals().waiting.changed()

    def _lay_on(self, link: WorkerLink) -> None:
        originals = self._see_originals()
        mirrors = Mirrors(
            self._known,
            link,
            self._recorder,
            self._metrics,
            look=originals.look,
            leads=self._leads,
            grace=self._grace,
        )
        hand = self._hands[link.name] = _Hand(link, mirrors)
        for name, kind in self._known.kinds.items():
            cache = link.mirrors[kind.adapter.resource]
            hand.undo.append(cache.subscribe(self._handler(hand, name, kind)))
        hand.undo.append(link.subscribe(lambda: self._link_changed(hand)))
        hand.tasks = [asyncio.create_task(mirrors.controller.run(), name=mirrors.controller.name)]
        self._link_changed(hand)

    def _take_away(self, name: str) -> None:
        hand = self._hands.pop(name)
        for undo in hand.undo:
            undo()
        for task in hand.tasks:
            task.cancel()
        hand.silence()
        for kind in self._known.kinds.values():
            kind.drop(name)
        self._known.stale.pop(name, None)
        self._known.shapes.pop(name, None)

    def _link_changed(self, hand: _Hand) -> None:
        if hand.link.connected and not hand.connected:
            hand.connected = True
            hand.listen(Echoes(hand.link, self._known.kinds, self._recorder, self._known.clock))
            self._survey(hand)
        elif hand.connected and not hand.link.connected:
            hand.connected = False
            hand.silence()
            self._metrics.losses.labels(hand.link.name).inc()
            self._all_assigned(hand.link.name)
        for mirror_uid in list(hand.starting):
            self._release(hand, mirror_uid)
        self._see_originals().waiting.changed()

    def _survey(self, hand: _Hand) -> None:
        """A worker is there: what must be stopped on it comes before everything else."""
        name = hand.link.name
        for kind_name, kind in self._known.kinds.items():
            for mirror in hand.link.mirrors[kind.adapter.resource]:
                stale = self._judge(name, kind, mirror)
                hand.mirrors.tend(Task(kind_name, origin_key(mirror)), priority=_URGENT if stale else 0)
            for obj in kind.originals.by_index(ASSIGNED, name):
                hand.mirrors.tend(Task(kind_name, obj.key))
        self._all_assigned(name)

    def _all_assigned(self, worker: str) -> None:
        originals = self._see_originals()
        for kind_name, kind in self._known.kinds.items():
            for obj in kind.originals.by_index(ASSIGNED, worker):
                originals.look(Task(kind_name, obj.key))

    # Mirrors change.

    def _handler(self, hand: _Hand, kind_name: str, kind: Kind) -> Callable[[Object | None, Object | None], None]:
        worker = hand.link.name

        def changed(old: Object | None, new: Object | None) -> None:
            if old is not None and new is not None and old.resource_version == new.resource_version:
                return
            kind.changed(worker, old, new)
            obj = new or old
            assert obj is not None
            task = Task(kind_name, origin_key(obj))
            if new is None:
                self._gone(task, hand, obj)
            else:
                self._changed(task, hand, kind, old, new)
            originals = self._see_originals()
            originals.look(task)
            if old is None or new is None:
                originals.waiting.changed()

        return changed

    def _changed(self, task: Task, hand: _Hand, kind: Kind, old: Object | None, new: Object) -> None:
        facts = kind.adapter.read(new)
        uid = new.metadata.annotations.get(ORIGIN_UID, "")
        memory = self._known.memories.peek(uid)
        if old is not None and memory.changed_at is None:
            memory.changed_at = self._known.clock.monotonic()
        if facts.started is not None and self._known.ledger.reserves(uid):
            hand.starting[new.uid] = _Starting(uid, facts.active)
            self._release(hand, new.uid)
        self._judge(hand.link.name, kind, new)
        if (
            old is None
            or old.metadata.generation != new.metadata.generation
            or old.metadata.annotations != new.metadata.annotations
            or old.metadata.labels != new.metadata.labels
            or kind.adapter.read(old).started != facts.started
            or (facts.end is not None and self._reported(kind, task))
        ):
            hand.mirrors.tend(task)

    def _release(self, hand: _Hand, mirror_uid: str) -> None:
        """What a mirror's pods ask for is reserved until they are counted on nodes: a Job starts before its pods are bound."""
        origin_uid, pods = hand.starting[mirror_uid]
        capacity = hand.link.capacity
        if not capacity.is_known or capacity.bound(mirror_uid) >= pods:
            del hand.starting[mirror_uid]
            self._known.ledger.started(origin_uid)

    def _reported(self, kind: Kind, task: Task) -> bool:
        """Whether an original's end is written down; until then its mirror stays, whatever became of it."""
        original = kind.originals.get(task.key)
        return original is None or kind.adapter.read(original).end is not None

    def _gone(self, task: Task, hand: _Hand, mirror: Object) -> None:
        """A mirror is gone: the one of the next run may begin."""
        stale = self._known.stale.get(hand.link.name)
        if stale is not None:
            stale.discard(mirror.uid)
        hand.starting.pop(mirror.uid, None)
        original = self._known.kinds[task.kind].originals.get(task.key)
        to = assignment_of(original) if original is not None else None
        hand.mirrors.tend(task)
        if to is not None and to.cluster != hand.link.name:
            self.nudge(task, to.cluster)

    def _judge(self, worker: str, kind: Kind, mirror: Object) -> bool:
        """Whether a mirror runs that should not; the worker takes nothing new while there is one."""
        original = kind.originals.get(origin_key(mirror))
        same = original is not None and original.uid == mirror.metadata.annotations.get(ORIGIN_UID)
        to = assignment_of(original) if original is not None and same else None
        wrong = not same or (to is not None and (to.cluster != worker or epoch_of(mirror) < to.epoch))
        stale = self._known.stale.setdefault(worker, set())
        if wrong and kind.adapter.read(mirror).end is None:
            stale.add(mirror.uid)
        else:
            stale.discard(mirror.uid)
        return mirror.uid in stale

    def _see_originals(self) -> Originals:
        assert self._originals is not None
        return self._originals
