"""Whether Kueue lets an original be placed, and where: the relay's gate where Kueue admits.

An original without a Workload is not queued, unless it names a queue: then Kueue has not made its Workload yet. With
one, it is placed when its quota is reserved, all other checks are ready, and the check that the relay is the controller
of is pending. That choice is what makes the check ready, and Kueue resume the original. When the quota is not reserved
any more, the run is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from jobrelay.kube import Key, Object
from jobrelay.relay.admission import ADMITTED, AdmissionAnswer, Admitted, NotAdmitted
from jobrelay.relay.multikueue.claims import CheckClaims
from jobrelay.relay.multikueue.clones import admission_of
from jobrelay.relay.multikueue.dispatching import DispatcherName, Dispatching
from jobrelay.relay.multikueue.objects import KueueObjects, owner_of
from jobrelay.relay.multikueue.views import (
    PENDING,
    QUEUE_NAME,
    READY,
    RETRY,
    WORKLOADS,
    MultiKueueCheckState,
    QueuedWorkload,
    read_workload,
)
from jobrelay.relay.signal import Signal
from jobrelay.relay.workers import WorkerConnection
from jobrelay.relay.workload_kind import WorkloadKind, WorkloadRef
from jobrelay.workloads import Adapter


class KueueGate:
    """Answers for originals from Kueue's objects, and notifies of those whose answers may have changed."""

    def __init__(
        self,
        objects: KueueObjects,
        kinds: Mapping[str, WorkloadKind],
        claims: CheckClaims,
        workers: Mapping[str, WorkerConnection],
        how: Dispatching,
    ) -> None:
        self._objects, self._claims, self._workers, self.how = objects, claims, workers, how
        self._failures: dict[tuple[str, Key], str] = {}
        """By worker and Workload: why its clone could not be created."""
        self._gone: set[tuple[str, Key]] = set()
        """Clones that were found missing on their workers."""
        self._wished: dict[Key, str] = {}
        self._asked: Signal[[Key]] = Signal()
        self._kinds = {(kind.adapter.resource.group, kind.adapter.resource.kind): kind for kind in kinds.values()}
        self._changed: Signal[[WorkloadRef]] = Signal()
        objects.workloads.subscribe(self._workload_changed)
        objects.configs.subscribe(lambda old, new: self.all_changed())

    def subscribe(self, changed: Callable[[WorkloadRef], None]) -> Callable[[], None]:
        return self._changed.subscribe(changed)

    def ask(self, original: Object, worker: str) -> None:
        found = self._objects.workload_of(original)
        if found is not None and self._wished.get(found[0].key) != worker:
            self._wished[found[0].key] = worker
            self._asked(found[0].key)

    def wished(self, key: Key) -> str:
        """The worker that placement prefers for a Workload, and that has to be asked; empty if there is none."""
        return self._wished.get(key, "")

    def subscribe_asked(self, callback: Callable[[Key], None]) -> Callable[[], None]:
        """Have `callback` called with each Workload that another worker has to be asked for; returns how to undo it."""
        return self._asked.subscribe(callback)

    def admission(self, adapter: Adapter, original: Object) -> AdmissionAnswer:
        if not self._objects.in_place:
            return ADMITTED if self._objects.known else NotAdmitted("Kueue's objects have not been read yet.")
        found = self._objects.workload_of(original)
        if found is None:
            queue = original.metadata.labels.get(QUEUE_NAME)
            return NotAdmitted(f"Kueue has not made a Workload for it yet, for queue {queue}.") if queue else ADMITTED
        return self._answer(found[0].key, found[1])

    def _answer(self, key: Key, workload: QueuedWorkload) -> AdmissionAnswer:
        if workload.finished:
            why = workload.message("Finished")
            return NotAdmitted(f"Its Workload {workload.name} is finished: {why}", taken_back=True)
        if not workload.reserved:
            why = workload.message("QuotaReserved") or f"it waits in queue {workload.queue}"
            return NotAdmitted(f"Kueue has not reserved quota for it: {why.rstrip('.')}.", taken_back=True)
        own = self.own_check(workload)
        if own is None:
            return self._unchecked(workload)
        if not self._claims.is_ours(own.name):
            return NotAdmitted(f"AdmissionCheck {own.name}: {self._not_ours(own.name)}.")
        others = [each.name for each in workload.checks if each.name != own.name and each.state != READY]
        if own.state == PENDING and others:
            return NotAdmitted(f"It waits for AdmissionCheck {', '.join(others)}.")
        return self._checked(key, workload, own)

    def _unchecked(self, workload: QueuedWorkload) -> AdmissionAnswer:
        if workload.admitted:
            return Admitted(id=workload.id)
        waits = ", ".join(each.name for each in workload.checks if each.state != READY)
        return NotAdmitted(f"Kueue has not admitted it yet{f': it waits for AdmissionCheck {waits}' if waits else ''}.")

    def _not_ours(self, check: str) -> str:
        if self._claims.stays_out(check):
            return "Kueue's own MultiKueue controller is at work, so the relay stays out"
        return "it is being found out whether Kueue's own MultiKueue controller is at work"

    def _checked(self, key: Key, workload: QueuedWorkload, own: MultiKueueCheckState) -> AdmissionAnswer:
        why = f"AdmissionCheck {own.name} does not allow it"
        queues = frozenset(name for name, worker in self._workers.items() if worker.mirrors.kueue is not False)
        if workload.evicted:
            why = "Kueue evicts it"
            return Admitted(frozenset(), workload.id, True, why, queues, prebuilt=workload.name)
        if own.state not in (PENDING, READY):
            left = own.state if own.state != RETRY else "Retry, and Kueue evicts it"
            why = f"AdmissionCheck {own.name} is {left}"
            return Admitted(frozenset(), workload.id, True, why, queues, prebuilt=workload.name)
        if own.state == READY and workload.cluster:
            why = f"it was admitted on {workload.cluster}"
            only, chosen = frozenset({workload.cluster}), workload.cluster
            return Admitted(only, workload.id, True, why, queues, chosen=chosen, prebuilt=workload.name)
        named = self.config(own) if self.how.dispatcher is DispatcherName.PLACEMENT else workload.nominated
        clones = {name: clone for name, clone in self.clones(key, workload).items() if name in named}
        declined = self._unknown(key) | {name: _declines(clone) for name, clone in clones.items() if _declines(clone)}
        won = min((name for name, clone in clones.items() if clone.admitted), key=_since(clones), default="")
        return Admitted(frozenset(named), workload.id, True, why, queues, declined, won, workload.name)

    def config(self, own: MultiKueueCheckState) -> tuple[str, ...]:
        """The workers that the MultiKueueConfig of a check names."""
        return self._objects.clusters(self._objects.check(own.name).config) or ()

    def _unknown(self, key: Key) -> dict[str, str]:
        """By worker: why it cannot be asked."""
        unread = "it is not known whether it runs Kueue: its Workloads have not been read, or may not be"
        found = {name: unread for name, worker in self._workers.items() if worker.mirrors.kueue is None}
        return found | {name: why for (name, each), why in self._failures.items() if each == key}

    def clones(self, key: Key, workload: QueuedWorkload) -> dict[str, QueuedWorkload]:
        """By worker: the clones of a Workload that were made for its present reservation."""
        caches = {name: worker.mirrors[WORKLOADS] for name, worker in self._workers.items() if worker.mirrors.kueue}
        found = {name: clone for name, cache in caches.items() if (clone := cache.get(key)) is not None}
        current = {name: clone for name, clone in found.items() if admission_of(clone) in ("", workload.id)}
        views = {name: read_workload(clone) for name, clone in current.items() if not clone.deleting}
        return {name: view for name, view in views.items() if view is not None}

    def is_gone(self, worker: str, key: Key) -> bool:
        """Whether a clone was found missing that should be on a worker."""
        return (worker, key) in self._gone

    def clone_changed(self, worker: str, key: Key, *, gone: bool) -> None:
        """A clone on a worker has changed, or was deleted there."""
        if gone:
            self._gone.add((worker, key))
        else:
            self._gone.discard((worker, key))
        workload = self._objects.workloads.get(key)
        if workload is None:
            self._gone.discard((worker, key))
        else:
            self._workload_changed(None, workload)

    def clone_failed(self, worker: str, key: Key, why: str) -> None:
        """The clone on a worker could not be created; it could, if `why` is empty."""
        if self._failures.pop((worker, key), "") != why:
            workload = self._objects.workloads.get(key)
            if workload is not None:
                self._workload_changed(None, workload)
        if why:
            self._failures[worker, key] = why

    def forget(self, key: Key) -> None:
        """A Workload has no reservation any more: what was found out about its clones is over."""
        self._wished.pop(key, None)
        for worker in self._workers:
            self._gone.discard((worker, key))
            self._failures.pop((worker, key), None)

    def own_check(self, workload: QueuedWorkload) -> MultiKueueCheckState | None:
        """The check of a Workload that is MultiKueue's, if it has one."""
        return next((each for each in workload.checks if self._objects.check(each.name).is_multikueue), None)

    def is_checked(self, workload: Object) -> bool:
        """Whether a Workload has a check of MultiKueue."""
        view = read_workload(workload)
        return view is not None and self.own_check(view) is not None

    def original_of(self, workload: Object) -> tuple[WorkloadKind, Object] | None:
        """The original that a Workload queues, if the relay knows its kind and it exists."""
        owner = owner_of(workload)
        kind = self._kinds.get((owner.api_version.rpartition("/")[0], owner.kind)) if owner is not None else None
        original = kind.original_with(owner.uid) if kind is not None and owner is not None else None
        return (kind, original) if kind is not None and original is not None else None

    def knows(self, workload: Object) -> bool:
        """Whether the relay knows the kind that a Workload queues."""
        owner = owner_of(workload)
        return owner is not None and (owner.api_version.rpartition("/")[0], owner.kind) in self._kinds

    def all_changed(self) -> None:
        """Queue all originals that have a Workload again."""
        for workload in self._objects.workloads:
            self._workload_changed(None, workload)

    def _workload_changed(self, old: Object | None, new: Object | None) -> None:
        if new is None and old is not None:
            self.forget(old.key)
        for ref in set(self._refs(old, new)):
            self._changed(ref)

    def _refs(self, old: Object | None, new: Object | None) -> Iterator[WorkloadRef]:
        if old is not None and new is not None and read_workload(old) == read_workload(new):
            return
        for obj in (old, new):
            if obj is not None and (found := self.original_of(obj)) is not None:
                kind, original = found
                yield WorkloadRef(kind.name, original.key)


def _declines(clone: QueuedWorkload) -> str:
    """Why a worker's Kueue has not reserved quota, if it has tried."""
    tried = clone.conditions.get("QuotaReserved")
    if tried is None or tried.status != "False":
        return ""
    return f"its Kueue has not reserved quota: {tried.message or tried.reason}"


def _since(clones: Mapping[str, QueuedWorkload]) -> Callable[[str], str]:
    return lambda name: clones[name].conditions["Admitted"].last_transition_time
