"""Queues as the relay's admission gate: constructs all parts, and answers whether a delegated object may run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from jobrelay.control import Runnable
from jobrelay.kube import EventRecorder, Object, Resource
from jobrelay.kube.metrics import MetricCollector
from jobrelay.kube.objects import Key
from jobrelay.queueing import names
from jobrelay.queueing.admitting import AdmissionCycles
from jobrelay.queueing.conditions import find, holds
from jobrelay.queueing.configuration import Configuration
from jobrelay.queueing.integrations.controller import QueuedObjectController
from jobrelay.queueing.integrations.decide import needs_injection
from jobrelay.queueing.integrations.injecting import Clash, injections
from jobrelay.queueing.managed import ManagedObjects
from jobrelay.queueing.metrics import Labels, QueueCollector, QueueMetrics
from jobrelay.queueing.objects import QueueObjects
from jobrelay.queueing.overview import explain_workload, overview
from jobrelay.queueing.state import QueueState
from jobrelay.queueing.status_controller import QueueStatusController
from jobrelay.queueing.views import WorkloadView
from jobrelay.queueing.webhooks.defaults import DEFAULT_QUEUE, QueueLookup
from jobrelay.queueing.webhooks.reviews import AdmissionReviews
from jobrelay.queueing.workload_controller import WorkloadController
from jobrelay.queueing.writing import WorkloadWriter
from jobrelay.relay.admission import ADMITTED, AdmissionAnswer, NotAdmitted, has_runs
from jobrelay.relay.copying.sources import CopySources
from jobrelay.relay.gate import AdmissionParts
from jobrelay.workloads import Adapter

EVENTS_PER_SECOND = 20.0


class QueueingGate:
    """Admission by queues with Kueue's API. See `jobrelay.relay.gate.QueueGate`."""

    def __init__(self, parts: AdmissionParts, configuration: Configuration | None = None) -> None:
        configuration = configuration or Configuration()
        config, clock, client = configuration.core(), parts.clock, parts.client
        self._parts = parts
        self.objects = objects = QueueObjects(client, parts.namespaces, clock, parts.random)
        wake = asyncio.Event()
        self.state = QueueState(objects, config, clock, wake.set)
        self.managed = ManagedObjects(parts.originals, parts.namespaces, configuration)
        self.reviews = AdmissionReviews(
            {resource: adapter for resource, (adapter, _) in parts.originals.items()},
            QueueLookup(self.managed.queue_of, self._has_default_queue, objects.sends_on),
        )
        """Answers what the API server asks about objects that are written."""
        self.metrics = QueueMetrics()
        writer = WorkloadWriter(client, objects.workloads)
        self._recorder = EventRecorder(
            client, "kueue-admission", parts.identity, clock=clock, random=parts.random, rate=EVENTS_PER_SECOND
        )
        self.admission = AdmissionCycles(
            self.state, writer, self._recorder, self.metrics, clock, wake=wake, leads=parts.leads, grace=parts.grace
        )
        self.workloads = WorkloadController(
            objects,
            writer,
            self._recorder,
            self.metrics,
            config,
            clock,
            report_waiting=self.admission.report_waiting,
            leads=parts.leads,
            grace=parts.grace,
        )
        self.queued = QueuedObjectController(
            parts.originals,
            objects,
            client,
            writer,
            self._recorder,
            clock,
            queue_of=self._queue_of,
            has_runs=has_runs,
            flavors=lambda: self.state.scheduler.snapshot.flavors,
            sources=CopySources(client, clock),
            copied=configuration.integrations.label_keys_to_copy,
            leads=parts.leads,
            grace=parts.grace,
        )
        self.statuses = QueueStatusController(self.state, client, clock, leads=parts.leads, grace=parts.grace)
        objects.workloads.subscribe(self._workload_event)
        for resource, (_, cache) in parts.originals.items():
            cache.subscribe(partial(self._original_event, resource))

    def watches(self) -> Sequence[Runnable]:
        return self.objects.caches

    def writers(self) -> Sequence[Runnable]:
        return (
            self._recorder,
            self.admission,
            self.admission.controller,
            self.workloads.controller,
            self.queued.controller,
            self.statuses.controller,
        )

    def collectors(self) -> Sequence[MetricCollector]:
        return (QueueCollector(self.metrics, self._gauges),)

    def verdict(self, adapter: Adapter, original: Object) -> AdmissionAnswer:
        queue = self._queue_of(adapter, original)
        if queue is None:
            return ADMITTED
        workload = self.objects.workload_of(original.uid)
        if workload is None:
            return _not_yet(f"It is being queued in LocalQueue {queue}.")
        view = workload.decode(WorkloadView)
        conditions = view.status.conditions
        if holds(conditions, names.FINISHED) and adapter.read(original).end is None:
            failed = find(conditions, names.FINISHED)
            return _not_yet(f"It cannot start: {failed.message if failed is not None else ''}.")
        if holds(conditions, names.EVICTED):
            evicted = find(conditions, names.EVICTED)
            return _not_yet(f"It was evicted from its queue: {evicted.message if evicted is not None else ''}.")
        if not holds(conditions, names.ADMITTED):
            return _not_yet(_waits(queue, view))
        return (
            ADMITTED if self._prepared(adapter, original, view) else _not_yet("It is admitted, and is being started.")
        )

    def _queue_of(self, adapter: Adapter, obj: Object) -> str | None:
        """The LocalQueue of an object. One that was queued stays so, also if its label is removed."""
        queue = self.managed.queue_of(adapter, obj)
        workload = self.objects.workload_of(obj.uid) if queue is None else None
        return queue if workload is None else workload.decode(WorkloadView).spec.queue_name

    def _has_default_queue(self, namespace: str) -> bool:
        """Whether objects of a namespace that name no queue are queued in its default one."""
        default = self.objects.local_queues.get(Key(namespace, DEFAULT_QUEUE))
        return default is not None and self.managed.selects(namespace)

    def _prepared(self, adapter: Adapter, original: Object, view: WorkloadView) -> bool:
        """Whether an admitted object has all that its flavors stand for."""
        if adapter.read(original).suspended:
            return False
        try:
            wanted = injections(view, self.state.scheduler.snapshot.flavors)
        except Clash:
            return False
        return not needs_injection(adapter, original, wanted) or has_runs(original)

    def explain(self, adapter: Adapter, original: Object, changes: Sequence[str] = ()) -> Mapping[str, Any] | None:
        workload = self.objects.workload_of(original.uid)
        if workload is None:
            return None
        return explain_workload(self.state, self.admission.why(workload.key), workload, changes)

    def overview(self) -> Mapping[str, Any]:
        return overview(self.state)

    def _workload_event(self, old: Object | None, new: Object | None) -> None:
        """The verdict on the object of a Workload may have changed."""
        workload = new or old
        owner = workload.metadata.controller if workload is not None else None
        if workload is None or owner is None:
            return
        for resource, (_, cache) in self._parts.originals.items():
            if (resource.api_version, resource.kind) == (owner.api_version, owner.kind):
                for original in cache.by_index("uid", owner.uid):
                    self._parts.changed(resource, original)

    def _original_event(self, resource: Resource, old: Object | None, new: Object | None) -> None:
        """Count the end of a queued object."""
        if old is None or new is None or resource not in self._parts.originals:
            return
        adapter = self._parts.originals[resource][0]
        if adapter.read(new).end is None or adapter.read(old).end is not None:
            return
        workload = self.objects.workload_of(new.uid)
        admission = workload.decode(WorkloadView).status.admission if workload is not None else None
        if admission is not None:
            self.metrics.finished(admission.cluster_queue)

    def _gauges(self) -> Iterator[tuple[str, str, Mapping[Labels, float]]]:
        queue, scheduler = "cluster_queue", self.state.scheduler
        pending: dict[Labels, float] = {}
        reserving: dict[Labels, float] = {}
        for each in self.objects.cluster_queues:
            active, inadmissible = scheduler.counts(each.name)
            pending[((queue, each.name), ("status", "active"))] = active
            pending[((queue, each.name), ("status", "inadmissible"))] = inadmissible
            reserving[((queue, each.name),)] = len(self.objects.holders_of(each.name))
        yield "kueue_pending_workloads", "Workloads that wait for quota", pending
        yield "kueue_reserving_active_workloads", "Workloads that hold quota", reserving


def _waits(queue: str, view: WorkloadView) -> str:
    reserved = find(view.status.conditions, names.QUOTA_RESERVED)
    if not view.spec.active:
        return f"It waits in LocalQueue {queue}: its Workload is deactivated."
    if reserved is not None and reserved.holds:
        waits = [each.name for each in view.status.admission_checks if each.state != "Ready"]
        return f"It has quota, and waits for admission check{'s' if len(waits) > 1 else ''} {', '.join(waits)}."
    why = reserved.message if reserved is not None and reserved.message else "for its turn"
    return f"It waits in LocalQueue {queue}: {why}."


def _not_yet(sentence: str) -> NotAdmitted:
    return NotAdmitted(sentence, taken_back=True, shows_suspension=True)
