"""Carrying out a decision: one sync of one Job.

The order matters. Pods that ended are published as uncounted before their finalizers fall, and only then counted: whatever
request fails or is lost on the way, the next sync finds enough to go on from. Errors of creating and deleting pods are
raised last, so that they do not keep others from being counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import msgspec
import structlog

from jobrelay.apimachinery.selectors import selector_from_object
from jobrelay.cluster.controllers.events import Recorder
from jobrelay.cluster.controllers.job.claim import adoption, release
from jobrelay.cluster.controllers.job.decision import Decision, decide
from jobrelay.cluster.controllers.job.metrics import JobMetrics
from jobrelay.cluster.controllers.job.podcontrol import PodControl, Work, reference
from jobrelay.cluster.controllers.job.records import Record
from jobrelay.cluster.controllers.job.tracking import Closing, Done, Report, close, report
from jobrelay.cluster.controllers.job.views import Condition, Job, Pod, Status
from jobrelay.kube import Client, Invalid, NotFound, Object
from jobrelay.kube.clock import Clock
from jobrelay.kube.resource import JOBS, PODS

log = structlog.get_logger(__name__)


class _StatusWrite(msgspec.Struct, rename="camel"):
    """A Job as it is sent to have its status replaced; its spec and managers stay what they are and are not sent."""

    metadata: dict[str, msgspec.Raw]
    status: Status = Status()
    kind: str = "Job"
    api_version: str = "batch/v1"


class AdoptionRefused(Exception):
    """The Job is not what the cache shows any more, so it may not take in pods."""


@dataclass(frozen=True, slots=True)
class Tools:
    client: Client
    recorder: Recorder
    clock: Clock
    metrics: JobMetrics


class JobSync:
    """One look at one Job; `obj` is the Job as the cache holds it.

    While many others wait (`hurried`), a status that says no more than that the Job has started is left for the next look:
    most often it has more to tell by then. `postponed` says that there must be one.
    """

    def __init__(self, tools: Tools, obj: Object, job: Job, record: Record, *, hurried: bool = False) -> None:
        self._tools, self._client, self._hurried = tools, tools.client, hurried
        self.postponed = False
        self._obj, self._job, self._record = obj, job, record
        self._control = PodControl(tools.client, tools.recorder, job, record)
        self.action = "reconciling"

    async def learn_version(self) -> None:
        """After a create whose answer was lost: find out what the cache of pods has to show first."""
        selector = str(selector_from_object(self._job.spec.selector))
        found = await self._client.list(PODS, self._job.metadata.namespace, label_selector=selector)
        for pod in found.items:
            self._record.saw_pod(pod.resource_version)
        self._record.unsure = False

    async def claimed(self, pods: tuple[Pod, ...], cache_version: str) -> Decision:
        """Decide, and carry out what the decision says about whose pods are whose."""
        memory = self._record.memory(pods, cache_version)
        decision = decide(self._job, pods, memory, self._tools.clock.now())
        if decision.adoptions:
            await self._confirm()
        gone = {pod.uid for pod in decision.adoptions if not await self._change(pod, adoption(self._job, pod))}
        for pod in decision.releases:
            await self._let_go(pod)
        if gone:
            left = tuple(pod for pod in pods if pod.uid not in gone)
            decision = decide(self._job, left, memory, self._tools.clock.now())
        return decision

    async def _confirm(self) -> None:
        """Only a Job that the server, not just the cache, shows alive may adopt."""
        meta = self._job.metadata
        fresh = await self._client.get(JOBS, meta.name, meta.namespace)
        if fresh.uid != meta.uid or fresh.deleting:
            raise AdoptionRefused(f"{meta.namespace}/{meta.name} with uid {meta.uid} was deleted")

    async def _let_go(self, pod: Pod) -> None:
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

    async def carry_out(self, decision: Decision) -> None:
        work = await self._manage(decision)
        if not decision.on_hold:
            await self._track(decision, Done(work.created, frozenset(work.done)))
        if work.error is not None:
            raise work.error

    async def _manage(self, decision: Decision) -> Work:
        if decision.plan.managed:
            self.action = "tracking"
        if decision.deletes:
            if decision.plan.managed:
                self.action = "pods_deleted"
            return await self._control.delete(decision.deletes, keep_finalizers=decision.keeps_finalizers)
        if decision.plan.indexes:
            self.action = "pods_created"
            work = await self._control.create(decision.creates)
            self._count_creations(decision, work)
            return work
        return Work()

    def _count_creations(self, decision: Decision, work: Work) -> None:
        facts, reason = decision.facts, "new"
        if facts.failed > 0 and self._job.spec.pod_replacement_policy == "Failed":
            reason = "recreate_failed"
        elif facts.failed > 0 or facts.terminating > 0:
            reason = "recreate_terminating_or_failed"
        self._tools.metrics.count("job_pods_creation_total", reason, "succeeded", by=work.created)
        self._tools.metrics.count("job_pods_creation_total", reason, "failed", by=work.failed)

    async def _track(self, decision: Decision, done: Done) -> None:
        reported = report(decision.facts, decision.plan, done)
        if self._hurried and self._record.began is None and reported.only_begins(self._job):
            self._record.began, self.postponed = decision.facts.start, True
            return
        for event in reported.events:
            self._control.tell(*event)
        if reported.changed:
            await self._write(reported.status, self._job.status)
            self._record.backoff, self._record.began = decision.memory, None
        for action, number in reported.policy_actions.items():
            self._tools.metrics.count("pod_failures_handled_by_failure_policy_total", action, by=number)
        removal = await self._control.remove_finalizers(reported.removals)
        await self._close(reported, removal)

    async def _close(self, reported: Report, removal: Work) -> None:
        if removal.error is not None:
            reported = replace(reported, ending=None)
        closing = close(reported, removal.done, self._tools.clock.now())
        if closing.changed:
            await self._write(closing.status, reported.status)
        if removal.error is not None:
            raise removal.error
        if closing.finished is not None:
            self._finished(closing, closing.finished)

    async def _write(self, status: Status, before: Status) -> None:
        body = msgspec.structs.replace(self._obj.decode(_StatusWrite), status=status)
        body.metadata.pop("managedFields", None)
        self._obj = await self._client.replace_status(JOBS, msgspec.json.encode(body), key=self._obj.key)
        self._record.job_version = self._obj.resource_version
        self._tools.metrics.counted(self._job, before, status)

    def _finished(self, closing: Closing, ending: Condition) -> None:
        spec, mode = self._job.spec, self._job.spec.completion_mode
        complete = ending.type == "Complete"
        self._tools.metrics.count("jobs_finished_total", mode, "succeeded" if complete else "failed", ending.reason)
        version, subject = self._obj.resource_version, reference(self._job)
        tell = self._tools.recorder.event
        if not complete:
            tell(subject, "Warning", ending.reason, ending.message, version=version)
            return
        if spec.completions is not None and closing.status.succeeded > spec.completions:
            message = "Too many succeeded pods running after completion count reached"
            tell(subject, "Warning", "TooManySucceededPods", message, version=version)
        tell(subject, "Normal", "Completed", "Job completed", version=version)
