"""One Job of a scenario: submits and changes it, and says which rule is broken if it does not do what it should.

A scenario is a sequence of calls of this class. Each wait ends when a watch shows what was waited for, or after
`patience`, and then raises `Broken` with the rule and what was seen instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from jobrelay.conformance.behaviour import PodBehaviour
from jobrelay.conformance.observing import JobRecord, RunObserver, summary
from jobrelay.conformance.rules import Violation, rule_named
from jobrelay.conformance.workspace import RunMarks
from jobrelay.kinds.batch.job.conditions import FAILURE, SUCCESS
from jobrelay.kinds.batch.job.names import (
    BUILT_IN_CONTROLLER,
    COMPLETE,
    CONTROLLER_UID,
    FAILED,
    INDEX_KEY,
    JOB_NAME,
    SUSPENDED,
)
from jobrelay.kinds.batch.job.write import is_condition
from jobrelay.kube import Client, NotFound, merge_patch
from jobrelay.kube.client import Propagation
from jobrelay.kube.resource import JOBS, PODS

__all__ = ["Broken", "JobUnderTest", "NotApplicable", "RunSettings"]

Obj = dict[str, Any]
TRACKING: Final = "batch.kubernetes.io/job-tracking"
NOBODY: Final = "conformance.jobrelay.dev/nobody"
"""A controller that does not exist."""


class Broken(Exception):
    """A scenario found that a rule is broken."""

    def __init__(self, rule: str, story: str) -> None:
        super().__init__(f"{rule}: {story}")
        self.violation = Violation(rule_named(rule), story)


class NotApplicable(Exception):
    """A scenario cannot judge this controller; the message says why."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What all Jobs of a run have in common.

    `managed_by` is the controller that is judged, `patience` how many seconds it has for each thing, `image` is that of
    all pods, `labels` are those that its Jobs need besides the run's own.
    """

    managed_by: str
    namespace: str
    marks: RunMarks
    patience: float = 30.0
    image: str = "busybox"
    labels: Mapping[str, str] = field(default_factory=dict)


class JobUnderTest:
    """The Job of one scenario; it has the scenario's name."""

    def __init__(self, name: str, client: Client, observer: RunObserver, settings: RunSettings) -> None:
        self.name = name
        self._client, self._observer, self._settings = client, observer, settings

    @property
    def record(self) -> JobRecord:
        found = self._observer.record(self.name)
        assert found is not None, "submit() waits for it"
        return found

    @property
    def status(self) -> Obj:
        return self.record.status

    @property
    def pods(self) -> list[Obj]:
        """The Job's pods in this cluster, without those that have ended."""
        return [pod for pod in self.record.pods.values() if pod["status"].get("phase") not in ("Succeeded", "Failed")]

    @property
    def active(self) -> int:
        count: int = self.status.get("active") or 0
        return count

    # What a user does.

    async def submit(self, pods: PodBehaviour, *, managed_by: str | None = None, **spec: Any) -> None:
        """Create the Job; it is for the controller that is judged unless `managed_by` names another."""
        manager = managed_by or self._settings.managed_by
        named = {} if manager == BUILT_IN_CONTROLLER else {"managedBy": manager}
        marks = self._settings.marks
        labels = {**self._settings.labels, **marks.labels}
        metadata = {"name": self.name, "labels": labels, "annotations": marks.annotations}
        template = pods.template(self._settings.image, marks.labels)
        body = {"metadata": metadata, "spec": {**named, "template": template, **spec}}
        await self._client.create(JOBS, body, self._settings.namespace)
        seen = await self._observer.until(lambda: self._observer.record(self.name) is not None, self._settings.patience)
        if not seen:
            raise NotApplicable("the watch of Jobs did not show a Job that was created")

    async def change(self, **spec: Any) -> None:
        await self._client.patch(JOBS, self.name, merge_patch({"spec": spec}), self._settings.namespace)

    async def delete(self, propagation: Propagation = "Background") -> None:
        """Delete the Job, if it is still there."""
        try:
            await self._client.delete(JOBS, self.name, self._settings.namespace, propagation=propagation)
        except NotFound:
            return

    async def delete_pod(self, pod: Obj) -> None:
        await self._client.delete(PODS, pod["metadata"]["name"], self._settings.namespace)

    # What has to follow.

    async def until(self, rule: str, wanted: str, holds: Callable[[], bool], seconds: float | None = None) -> None:
        """Wait for something; raises Broken."""
        patience = self._settings.patience if seconds is None else seconds
        if not await self._observer.until(holds, patience):
            raise Broken(rule, f"{wanted} within {patience:g} s; the status: {summary(self.status)}")

    async def never(self, rule: str, unwanted: str, holds: Callable[[], bool], seconds: float) -> None:
        """Watch for some seconds that something does not happen; raises Broken if it does."""
        if await self._observer.until(holds, seconds):
            raise Broken(rule, f"{unwanted}; the status: {summary(self.status)}")

    async def is_taken(self) -> None:
        """The controller has written a status."""
        await self.until("R1", "a status was expected", lambda: bool(self.status))

    async def has_active(self, number: int, rule: str = "R10") -> None:
        await self.is_taken()
        await self.until(rule, f"active was expected to become {number}", lambda: self.active == number)

    async def is_suspended(self, rule: str) -> None:
        await self.until(
            rule,
            "Suspended=True without active pods was expected",
            lambda: is_condition(self.status, SUSPENDED) and not self.active,
        )

    async def completes(self, reason: str, **counts: Any) -> None:
        """The Job becomes Complete; `counts` are fields of its status, absent ones are 0 or empty."""
        await self._ends(SUCCESS.terminal, FAILURE.terminal, reason, counts)

    async def fails(self, reason: str, **counts: Any) -> None:
        """The Job becomes Failed."""
        await self._ends(FAILURE.terminal, SUCCESS.terminal, reason, counts)

    async def _ends(self, wanted: str, other: str, reason: str, counts: Obj) -> None:
        await self.is_taken()

        def ended() -> bool:
            return is_condition(self.status, wanted) or is_condition(self.status, other)

        await self.until("R2", f"{wanted} was expected", ended)
        if not is_condition(self.status, wanted):
            raise Broken("R2", f"{wanted} was expected; the status: {summary(self.status)}")
        given = next(each.get("reason", "") for each in self.status["conditions"] if each["type"] == wanted)
        if given != reason:
            raise Broken("R3", f"the reason of {wanted} is {given!r}, expected was {reason!r}")
        for name, value in counts.items():
            found = self.status.get(name) or (0 if isinstance(value, int) else "")
            if found != value:
                rule = "R5" if name.endswith("Indexes") else "R4"
                raise Broken(rule, f"{name} is {found!r}, expected was {value!r}")

    async def has_no_pods_left(self) -> None:
        """If the Job has finished, none of its pods is active or held."""
        if is_condition(self.status, COMPLETE) or is_condition(self.status, FAILED):
            await self.until("R13", "all pods were expected to be ended and released", lambda: not any(self._held()))

    def _held(self) -> Iterator[str]:
        for pod in self.record.pods.values():
            ended = pod["status"].get("phase") in ("Succeeded", "Failed")
            if not ended or TRACKING in pod["metadata"].get("finalizers", ()):
                yield pod["metadata"]["name"]

    async def is_gone(self, rule: str = "R12") -> None:
        """The Job does not exist any more, and neither do its pods."""
        await self.until(
            rule, "the Job and its pods were expected to go", lambda: self.record.deleted and not self.record.pods
        )

    async def needs_pods(self, number: int) -> None:
        """The Job has that many running pods here; a controller that makes them elsewhere cannot be judged by them."""
        await self.has_active(number, "R2")
        if not await self._observer.until(lambda: len(self.pods) >= number, self._settings.patience / 3):
            raise NotApplicable("the controller makes no pods in this cluster, or they may not be read")
        if not await self._observer.until(lambda: self._running() >= number, self._settings.patience):
            raise NotApplicable("nobody runs the pods that the controller makes")

    def _running(self) -> int:
        return sum(pod["status"].get("phase") == "Running" for pod in self.pods)

    def check_pods(self, *, indexed: bool) -> None:
        """All pods are marked as the API documents; raises Broken."""
        job = self.record.job["metadata"]
        for pod in self.pods:
            metadata = pod["metadata"]
            labels, annotations = metadata.get("labels", {}), metadata.get("annotations", {})
            facts = {
                "a name that begins with the Job's": metadata["name"].startswith(f"{self.name}-"),
                f"label {JOB_NAME}": labels.get(JOB_NAME) == self.name,
                f"label {CONTROLLER_UID}": labels.get(CONTROLLER_UID) == job["uid"],
                f"finalizer {TRACKING}": TRACKING in metadata.get("finalizers", ()),
                f"annotation {INDEX_KEY}": not indexed or annotations.get(INDEX_KEY, "").isdecimal(),
                f"label {INDEX_KEY}": not indexed or labels.get(INDEX_KEY) == annotations.get(INDEX_KEY),
                "the template's annotations": "jobrelay.dev/run-seconds" in annotations,
            }
            if missing := [fact for fact, holds in facts.items() if not holds]:
                raise Broken("R14", f"pod {metadata['name']} lacks {', '.join(missing)}")
