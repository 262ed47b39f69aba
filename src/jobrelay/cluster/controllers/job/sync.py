"""One sync of one Job: carries out a decision.

The order matters. Pods that ended are first listed as uncounted in the status, then their finalizers are removed, and
only then they are counted. Whichever request fails or is lost, the next sync can continue from there. Errors of
creating and deleting pods are raised last, so that they do not keep other pods from being counted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from jobrelay.apimachinery.selectors import selector_from_object
from jobrelay.cluster.controllers.job.claim import adoption, release
from jobrelay.cluster.controllers.job.decision import JobDecision, decide
from jobrelay.cluster.controllers.job.expectations import JobExpectations
from jobrelay.cluster.controllers.job.metrics import JobMetrics
from jobrelay.cluster.controllers.job.podcontrol import PodControl, RequestResults, reference
from jobrelay.cluster.controllers.job.tracking import PlanOutcome, UncountedUpdate, count_uncounted, list_uncounted
from jobrelay.cluster.controllers.job.views import BatchJobStatus, Condition, Job, Pod
from jobrelay.kube import Client, EventRecorder, Invalid, NotFound, Object
from jobrelay.kube.clock import Clock
from jobrelay.kube.resource import JOBS, PODS
from jobrelay.logs import get_logger

log = get_logger(__name__)


class _StatusWrite(msgspec.Struct, rename="camel"):
    """The body of a status update; the spec and managedFields are not sent, since they do not change."""

    metadata: dict[str, msgspec.Raw]
    status: BatchJobStatus = BatchJobStatus()
    kind: str = "Job"
    api_version: str = "batch/v1"


WriteStatus = Callable[[Object, BatchJobStatus], Awaitable[Object]]
"""Writes the status of a Job, given as it was read; returns the Job as it was stored."""


def status_update(client: Client) -> WriteStatus:
    """An update of the status, which is refused if the Job has changed since it was read."""

    async def write(job: Object, status: BatchJobStatus) -> Object:
        body = msgspec.structs.replace(job.decode(_StatusWrite), status=status)
        body.metadata.pop("managedFields", None)
        return await client.replace_status(JOBS, msgspec.json.encode(body), key=job.key)

    return write


class AdoptionRefused(Exception):
    """The Job has been deleted although the cache still shows it, so it must not adopt pods."""


@dataclass(frozen=True, slots=True)
class SyncDependencies:
    """What the syncs of all Jobs share."""

    client: Client
    recorder: EventRecorder
    clock: Clock
    metrics: JobMetrics
    write_status: WriteStatus


class JobSync:
    """One sync of one Job; `obj` is the Job as the cache holds it.

    While many other Jobs are queued (`busy`), a status update that only sets the start time is left to the next sync,
    which mostly has more to write. `postponed` then says that the Job has to be queued again.
    """

    def __init__(
        self, shared: SyncDependencies, obj: Object, job: Job, expectations: JobExpectations, *, busy: bool = False
    ) -> None:
        self._shared, self._client, self._busy = shared, shared.client, busy
        self.postponed = False
        self._obj, self._job, self._expectations = obj, job, expectations
        self._control = PodControl(shared.client, shared.recorder, job, expectations)
        self.action = "reconciling"

    async def list_pods(self) -> None:
        """After a create request without a response: learns which version the cache of pods has to reach."""
        selector = str(selector_from_object(self._job.spec.selector))
        found = await self._client.list(PODS, self._job.metadata.namespace, label_selector=selector)
        self._expectations.pods_listed(pod.resource_version for pod in found.items)

    async def claim_and_decide(self, pods: tuple[Pod, ...], cache_version: str) -> JobDecision:
        """Makes the decision, after its adoptions and releases of pods are carried out."""
        state = self._expectations.sync_state(pods, cache_version)
        decision = decide(self._job, pods, state, self._shared.clock.now())
        if decision.claims.adopted:
            await self._check_not_deleted()
        gone = {pod.uid for pod in decision.claims.adopted if not await self._change(pod, adoption(self._job, pod))}
        for pod in decision.claims.released:
            await self._release(pod)
        if gone:
            left = tuple(pod for pod in pods if pod.uid not in gone)
            decision = decide(self._job, left, state, self._shared.clock.now())
        return decision

    async def _check_not_deleted(self) -> None:
        """Only a Job that exists on the server, not just in the cache, may adopt pods."""
        meta = self._job.metadata
        fresh = await self._client.get(JOBS, meta.name, meta.namespace)
        if fresh.uid != meta.uid or fresh.deleting:
            raise AdoptionRefused(f"{meta.namespace}/{meta.name} with uid {meta.uid} was deleted")

    async def _release(self, pod: Pod) -> None:
        try:
            await self._change(pod, release(self._job, pod))
        except Invalid:
            log.debug("pod was released already", pod=pod.name)

    async def _change(self, pod: Pod, change: dict[str, Any]) -> bool:
        try:
            await self._control.patch(pod, change)
        except NotFound:
            return False
        return True

    async def carry_out(self, decision: JobDecision) -> None:
        results = await self._manage(decision)
        if not decision.on_hold:
            await self._track(decision, PlanOutcome(results.created, frozenset(results.done)))
        if results.error is not None:
            raise results.error

    async def _manage(self, decision: JobDecision) -> RequestResults:
        if decision.plan.managed:
            self.action = "tracking"
        if decision.plan.deletes:
            if decision.plan.managed:
                self.action = "pods_deleted"
            return await self._control.delete(decision.plan.deletes, keep_finalizers=decision.keeps_finalizers)
        if decision.plan.indexes:
            self.action = "pods_created"
            results = await self._control.create(list(decision.plan.bodies(decision.snapshot)))
            self._count_creations(decision, results)
            return results
        return RequestResults()

    def _count_creations(self, decision: JobDecision, results: RequestResults) -> None:
        snapshot, reason = decision.snapshot, "new"
        if snapshot.failed > 0 and self._job.spec.pod_replacement_policy == "Failed":
            reason = "recreate_failed"
        elif snapshot.failed > 0 or snapshot.terminating > 0:
            reason = "recreate_terminating_or_failed"
        self._shared.metrics.count("job_pods_creation_total", reason, "succeeded", by=results.created)
        self._shared.metrics.count("job_pods_creation_total", reason, "failed", by=results.failed)

    async def _track(self, decision: JobDecision, outcome: PlanOutcome) -> None:
        uncounted = list_uncounted(decision.snapshot, decision.plan, outcome)
        if self._busy and not self._expectations.start_postponed and uncounted.only_starts(self._job):
            self._expectations.postpone_start(decision.snapshot.start)
            self.postponed = True
            return
        for event in uncounted.events:
            self._control.event(*event)
        if uncounted.changed:
            await self._write(uncounted.status, self._job.status)
            self._expectations.status_reported(decision.snapshot.backoff)
        for action, number in uncounted.policy_actions.items():
            self._shared.metrics.count("pod_failures_handled_by_failure_policy_total", action, by=number)
        removals = await self._control.remove_finalizers(uncounted.removals)
        await self._count(uncounted, removals)

    async def _count(self, uncounted: UncountedUpdate, removals: RequestResults) -> None:
        if removals.error is not None:
            uncounted = replace(uncounted, finished_condition=None)
        counted = count_uncounted(uncounted, removals.done, self._shared.clock.now())
        if counted.changed:
            await self._write(counted.status, uncounted.status)
        if removals.error is not None:
            raise removals.error
        if counted.finished_condition is not None:
            self._finished(counted.status, counted.finished_condition)

    async def _write(self, status: BatchJobStatus, before: BatchJobStatus) -> None:
        self._obj = await self._shared.write_status(self._obj, status)
        self._expectations.job_written(self._obj.resource_version)
        self._shared.metrics.counted(self._job, before, status)

    def _finished(self, status: BatchJobStatus, finished: Condition) -> None:
        spec, mode = self._job.spec, self._job.spec.completion_mode
        complete = finished.type == "Complete"
        self._shared.metrics.count("jobs_finished_total", mode, "succeeded" if complete else "failed", finished.reason)
        version, subject = self._obj.resource_version, reference(self._job)
        record = self._shared.recorder.event
        if not complete:
            record(subject, "Warning", finished.reason, finished.message, version=version)
            return
        if spec.completions is not None and status.succeeded > spec.completions:
            message = "Too many succeeded pods running after completion count reached"
            record(subject, "Warning", "TooManySucceededPods", message, version=version)
        record(subject, "Normal", "Completed", "Job completed", version=version)
