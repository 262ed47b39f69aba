"""Plays one script: the steps are the `do_*` methods, and each is followed by a picture of what came of it.

A step that the API server refuses is no end of a script: its answer belongs to the picture. Objects whose order
matters are created in different seconds, since a creation time has no fractions.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from jobrelay.kube import NotFound, Resource, merge_patch
from jobrelay.kube.errors import StatusError
from jobrelay.kube.resource import JOBS, NAMESPACES, NODES, PODS, SERVICEACCOUNTS
from tests.oracle.job_scripts.statuses import pod_status, timed

from . import objects as short
from .objects import KINDS, WORKLOADS, Names, Obj
from .picture import Facts, picture
from .scripts import Script
from .stage import Stage, settled

NODE: Final = "queue-scripts"
IN_ORDER: Final = 5.0
NO_GRACE: Final = merge_patch({"metadata": {"finalizers": None}})


class Player:
    """One script on one cluster."""

    def __init__(self, stage: Stage, script: Script, run: str = "") -> None:
        self.stage, self.script, self.names = stage, script, Names(script.slug(run))
        self.client = stage.client
        self._made: list[tuple[Resource, str]] = []
        self._second = 0

    async def play(self) -> list[Facts]:
        """The facts after each step."""
        await self.begin()
        try:
            return [await self._step(step) for step in self.script.steps]
        finally:
            await self.clean_up()

    async def begin(self) -> None:
        await self._namespace("", {})

    @property
    def stages(self) -> Sequence[Stage]:
        """The clusters that a step may change."""
        return (self.stage,)

    def picture(self, error: Obj | None = None) -> Facts:
        """What a script's objects show now."""
        return picture(self.stage, self.names, error, self.stage.reserved(self.names.slug))

    async def _step(self, step: Obj) -> Facts:
        error: Obj | None = None
        try:
            await self.do(step)
        except StatusError as refusal:
            error = {"code": refusal.code, "message": str(refusal)}
        except LookupError as nothing:
            error = {"code": 404, "message": str(nothing)}
        rest = {} if await settled(self.stages, self.names.slug) else {"rest": "never"}
        return rest | self.picture(error)

    async def do(self, step: Obj) -> None:
        """What a step says, by its verbs."""
        for verb, what in step.items():
            await getattr(self, f"do_{verb}")(what)

    # Queues and what they need.

    async def do_namespace(self, namespaces: Obj) -> None:
        for name, labels in namespaces.items():
            await self._namespace(name, labels or {})

    async def do_flavor(self, flavors: Obj) -> None:
        await self._create_all(short.FLAVORS, short.flavor, flavors)

    async def do_queue(self, queues: Obj) -> None:
        """ClusterQueues, each with a LocalQueue of its name unless `local` is false."""
        await self._create_all(short.CLUSTERQUEUES, short.cluster_queue, queues)
        locals_ = {name: {"queue": name} for name, one in queues.items() if one.get("local", True)}
        await self._create_all(short.LOCALQUEUES, short.local_queue, locals_)

    async def do_local(self, queues: Obj) -> None:
        await self._create_all(short.LOCALQUEUES, short.local_queue, queues)

    async def do_cohort(self, cohorts: Obj) -> None:
        await self._create_all(short.COHORTS, short.cohort, cohorts)

    async def do_priority(self, classes: Obj) -> None:
        for name, value in classes.items():
            body = {"metadata": {"name": self.names.named(name)}, "value": value}
            await self.create(short.PRIORITIES, body)

    async def do_pod_priority(self, classes: Obj) -> None:
        for name, value in classes.items():
            body = {"metadata": {"name": self.names.named(name)}, "value": value}
            await self.create(short.POD_PRIORITIES, body)

    async def do_check(self, checks: Obj) -> None:
        """AdmissionChecks whose controller is the script; they are active unless `active` is false."""
        for name, one in checks.items():
            full = self.names.named(name)
            controller = (one or {}).get("controller", "example.com/script")
            await self.create(short.CHECKS, {"metadata": {"name": full}, "spec": {"controllerName": controller}})
            await self.do_active({name: (one or {}).get("active", True)})

    async def do_active(self, checks: Obj) -> None:
        for name, active in checks.items():
            state = (
                {"status": "True", "reason": "Active", "message": "ready"}
                if active
                else {"status": "False", "reason": "Gone", "message": "gone"}
            )
            condition = timed({"type": "Active", "lastTransitionTime": "now", "observedGeneration": 1, **state})
            patch = merge_patch({"status": {"conditions": [condition]}})
            await self.client.patch(short.CHECKS, self.names.named(name), patch, subresource="status")

    # Jobs and Workloads.

    async def do_job(self, jobs: Obj) -> None:
        for name, one in jobs.items():
            await self._next_second()
            await self.create(JOBS, short.job(self.names, name, one))
            if "queue" in one and name != [*jobs][-1]:
                await self._queued(name)

    async def do_workload(self, workloads: Obj) -> None:
        for name, one in workloads.items():
            await self._next_second()
            await self.create(WORKLOADS, short.workload(self.names, name, one))

    async def do_pods(self, jobs: Obj) -> None:
        """Give a Job's pods a status: all that have not ended, or with `{status: N}` so many of them."""
        for name, status in jobs.items():
            chosen = self._pods(name)
            for word, count in status.items() if isinstance(status, dict) else [(status, len(chosen))]:
                for pod in chosen[:count]:
                    await self._set_status(pod, word)
                chosen = chosen[count:]

    async def do_checks(self, workloads: Obj) -> None:
        """What an admission check's controller says about the Workload of a Job."""
        for name, checks in workloads.items():
            workload = self._workload(name)
            states = {each["name"]: each for each in workload.get("status", {}).get("admissionChecks", ())}
            for check, said in checks.items():
                full = self.names.named(check)
                body = {"state": said} if isinstance(said, str) else said
                states[full] = timed({"message": "", "name": full, "lastTransitionTime": "now", **body})
            patch = merge_patch({"status": {"admissionChecks": list(states.values())}})
            await self._patch_workload(name, patch, "status")

    async def do_set(self, workloads: Obj) -> None:
        """Change the spec of Workloads, by the name of the Job if they have one."""
        for name, spec in workloads.items():
            await self._patch_workload(name, merge_patch({"spec": self.names.whole(spec)}))

    async def do_set_status(self, workloads: Obj) -> None:
        for name, status in workloads.items():
            await self._patch_workload(name, merge_patch({"status": timed(self.names.whole(status))}), "status")

    # Anything.

    async def do_create(self, body: Obj) -> None:
        """A whole object, with its kind."""
        body = self.names.whole(body)
        resource = KINDS[body["kind"]]
        if resource.namespaced:
            body["metadata"].setdefault("namespace", self.names.namespace())
        await self.create(resource, body)

    async def do_change(self, changes: Obj) -> None:
        """Merge patches by `Kind name`."""
        for key, patch in changes.items():
            resource, name, namespace = self._target(key)
            await self.client.patch(resource, name, merge_patch(self.names.whole(patch)), namespace)

    async def do_delete(self, keys: list[str]) -> None:
        for key in keys:
            resource, name, namespace = self._target(key)
            await self.client.delete(resource, name, namespace, propagation="Background")

    async def do_until(self, facts: Obj) -> None:
        """Wait until facts are there, given by their beginnings; what never comes is seen in the picture."""

        def there() -> bool:
            now = picture(self.stage, self.names)
            return all(str(now.get(name, "-")).startswith(str(value)) for name, value in facts.items())

        await self.stage.until(self.names.slug, there)

    async def do_wait(self, _: Any) -> None:
        """Nothing but to come to rest."""

    # How.

    async def _namespace(self, name: str, labels: Obj) -> None:
        full = self.names.namespace(name)
        await self.create(NAMESPACES, {"metadata": {"name": full, "labels": labels}})
        while True:
            with suppress(NotFound):
                await self.client.get(SERVICEACCOUNTS, "default", full)
                return
            await asyncio.sleep(0.05)

    async def _create_all(self, resource: Resource, make: Callable[[Names, str, Obj], Obj], shorts: Obj) -> None:
        for name, one in shorts.items():
            await self.create(resource, make(self.names, name, one or {}))

    async def create(self, resource: Resource, body: Obj) -> None:
        created = await self.client.create(resource, short.typed(resource, body))
        if not resource.namespaced:
            self._made.append((resource, created.name))

    async def _queued(self, job: str) -> None:
        """Wait for the Workload of a Job, since it is the age of Workloads that counts; some Jobs never get one."""
        with suppress(TimeoutError):
            async with asyncio.timeout(IN_ORDER):
                await self.stage.changes[self.names.slug].until(lambda: self._has_workload(job))
        self._second = int(time.time())

    async def _next_second(self) -> None:
        """Wait for a second in which nothing was created yet."""
        while int(time.time()) <= self._second:
            await asyncio.sleep(1 - time.time() % 1 + 0.01)
        self._second = int(time.time())

    def _target(self, key: str) -> tuple[Resource, str, str | None]:
        kind, name = key.split()
        resource = KINDS[kind]
        if resource is WORKLOADS:
            metadata = self._workload(name)["metadata"]
            return resource, metadata["name"], metadata["namespace"]
        if resource.namespaced:
            place, _, plain = name.rpartition("/")
            return resource, plain, self.names.namespace(place)
        return resource, self.names.namespace("" if name == "NS" else name), None

    def _workload(self, name: str) -> Obj:
        for each in self.stage.objects(WORKLOADS, self.names.slug):
            if short.job_of(each) == name:
                return each
        raise LookupError(f"no Workload of {name}")

    def _has_workload(self, name: str) -> bool:
        try:
            return bool(self._workload(name))
        except LookupError:
            return False

    async def _patch_workload(self, name: str, patch: Any, subresource: str | None = None) -> None:
        metadata = self._workload(name)["metadata"]
        await self.client.patch(WORKLOADS, metadata["name"], patch, metadata["namespace"], subresource=subresource)

    def _pods(self, job: str) -> list[Obj]:
        pods = [
            each
            for each in self.stage.objects(PODS, self.names.slug)
            if each["metadata"].get("labels", {}).get("job-name") == job
            and each["status"].get("phase") not in ("Succeeded", "Failed")
            and "deletionTimestamp" not in each["metadata"]
        ]
        return sorted(pods, key=lambda each: str(each["metadata"]["name"]))

    async def _set_status(self, pod: Obj, word: str) -> None:
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        if not pod["spec"].get("nodeName"):
            body = {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": name},
                "target": {"kind": "Node", "name": NODE},
            }
            await self.client.create(PODS, body, namespace, name=name, subresource="binding")
        await self.client.patch(PODS, name, merge_patch({"status": pod_status(word)}), namespace, subresource="status")

    async def clean_up(self) -> None:
        """Remove everything, so that it costs the next scripts nothing; what goes by itself meanwhile is no error."""
        for job in self.stage.objects(JOBS, self.names.slug):
            with suppress(StatusError):
                await self.client.delete(
                    JOBS, job["metadata"]["name"], job["metadata"]["namespace"], propagation="Background"
                )
        for workload in self.stage.objects(WORKLOADS, self.names.slug):
            name, namespace = workload["metadata"]["name"], workload["metadata"]["namespace"]
            with suppress(StatusError):
                await self.client.patch(WORKLOADS, name, NO_GRACE, namespace)
                await self.client.delete(WORKLOADS, name, namespace)
        for resource, name in reversed(self._made):
            with suppress(StatusError):
                await self.client.delete(resource, name)


async def prepare_node(stage: Stage) -> None:
    """The node that pods are bound to."""
    try:
        await stage.client.get(NODES, NODE)
    except NotFound:
        await stage.client.create(NODES, {"metadata": {"name": NODE}})
