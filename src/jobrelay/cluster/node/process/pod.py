"""One pod as local processes: volumes, init containers in order, sidecars, containers, termination.

A pod worker is one task per pod. It keeps the state of the containers in `ContainerRun`s. Whenever that changes, a
second task writes the status; it writes the latest state only, so a burst of changes costs one write.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.node.containerrun import CREATING, INITIALIZING, container_runs, restore
from jobrelay.cluster.node.process.container import Container, runs_nothing
from jobrelay.cluster.node.process.environment import ConfigMissing
from jobrelay.cluster.node.process.host import PodHost
from jobrelay.cluster.node.process.launcher import StartError
from jobrelay.cluster.node.process.podsandbox import PodSandbox
from jobrelay.cluster.node.process.volumes import Volumes
from jobrelay.cluster.node.scriptedpod import DEADLINE
from jobrelay.cluster.node.status import ENDED, Obj, PodView, pod_status
from jobrelay.kinds.core.pod.common import is_sidecar
from jobrelay.kube.clock import sleep
from jobrelay.kube.errors import KubeError, NotFound
from jobrelay.kube.patch import strategic_patch
from jobrelay.kube.resource import PODS
from jobrelay.logs import get_logger

log = get_logger(__name__)
RETRY: Final = 2.0
REFRESH: Final = 10.0
NOT_PULLED: Final = (
    "Images are not pulled: the commands of containers run as processes of this machine, "
    "as the user who started the cluster"
)
NO_IMAGES: Final = "and images, which might have one, are not pulled"
NO_MOUNTS: Final = (
    "This system allows no mounts of a pod's own: "
    "mount paths in commands are replaced, and volumes are found through JOBRELAY_MOUNT_<VOLUME>"
)
UNEXPECTED: Final = "UnexpectedError"
LOST: Final = ("NodeRestarted", "The cluster was stopped while the pod was running")


class PodWorker(PodSandbox):
    """Runs one pod from its binding to its termination."""

    def __init__(self, host: PodHost, pod: Obj) -> None:
        super().__init__(host, pod)
        self._volumes = Volumes(
            pod, self.folder, self.objects, lambda wanted: self.objects.token(self.object, wanted), host.capacity
        )
        self._removed = False
        self._stop_at = math.inf
        self._reason: tuple[str, str] = ("", "")
        self._failed = False
        self._conditions: dict[str, Obj] = {}
        self._ended = self._set_up = False
        self._start_time: str = (pod.get("status") or {}).get("startTime") or format_time(host.clock.now())
        spec = pod["spec"]
        self.runs = container_runs(spec)
        self._inits = [Container(self, c, self.runs[c["name"]]) for c in spec.get("initContainers") or ()]
        self._mains = [Container(self, c, self.runs[c["name"]]) for c in spec["containers"]]
        self._recover(pod.get("status") or {})

    def container(self, name: str) -> Container | None:
        return next((one for one in (*self._inits, *self._mains) if one.run.name == name), None)

    # Requests of the runtime.

    def update(self, pod: Obj) -> None:
        """The pod has changed; stops it if it is being deleted."""
        self.object = pod
        if pod["metadata"].get("deletionTimestamp"):
            self.stop(float(pod["metadata"].get("deletionGracePeriodSeconds") or 0))

    def removed(self) -> None:
        """The pod is no longer in the API: it is killed, and its status is not written any more."""
        self._removed = True
        self.stop(0.0)

    def stop(self, grace: float) -> None:
        """Stops the pod within `grace` seconds; further calls can only shorten that."""
        loop = asyncio.get_running_loop()
        sooner = loop.time() + grace < self._stop_at
        self._stop_at = min(self._stop_at, loop.time() + grace)
        if self.stopping.is_set() and sooner:
            loop.call_later(grace, self._kill_all)
        self.stopping.set()

    def _kill_all(self) -> None:
        for container in (*self._inits, *self._mains):
            container.kill()

    # Running.

    async def run(self) -> None:
        publisher = asyncio.create_task(self._publish())
        try:
            await self._run()
        except Exception as error:  # whatever it was, the pod must not seem to run for ever
            log.exception("a pod could not be run", pod=self.object["metadata"]["name"], uid=self.uid)
            self._reason, self._failed = (UNEXPECTED, f"The node could not run the pod: {error!r}"), True
            self._terminate_running()
        finally:
            self._kill_all()
            publisher.cancel()
            await asyncio.wait({publisher})
            self.logs.close()
        self._ended = True
        await self._write_final()
        if self.object["metadata"].get("deletionTimestamp"):
            await self.remove()

    async def _run(self) -> None:
        self.changed()
        if not await self._node_ready() or not await self._set_up_volumes():
            return
        self._set_up = True
        watching = [asyncio.create_task(self._watch_deadline()), asyncio.create_task(self._refresh())]
        sidecars: list[tuple[Container, asyncio.Task[int]]] = []
        try:
            if await self._initialize(sidecars):
                await self._run_mains()
        finally:
            for one in watching:
                one.cancel()
            for container, task in reversed(sidecars):
                await container.stop(self._left())
                await asyncio.wait({task})

    async def _node_ready(self) -> bool:
        """Waits until processes can be started; False if the pod is stopped before."""
        while not self.stopping.is_set():
            try:
                await self.host.launcher.ready()
            except StartError as error:
                self.warn("FailedCreatePodSandBox", f"Failed to create pod sandbox: {error}")
                await self.pause(RETRY)
                continue
            if self.host.announce_limits():
                self.event("ImageNotPulled", NOT_PULLED)
                if not self.host.launcher.mounts:
                    self.warn("NoMounts", NO_MOUNTS)
            self._warn_of_nothing()
            return True
        return False

    def _warn_of_nothing(self) -> None:
        """Says which containers will end at once because they have no command."""
        spec = self.object["spec"]
        every = [*(spec.get("initContainers") or ()), *spec["containers"]]
        if idle := [f'"{each["name"]}"' for each in every if runs_nothing(each)]:
            who, they = ("container", "it has") if len(idle) == 1 else ("containers", "they have")
            self.warn("NothingRun", f"Nothing is run for {who} {', '.join(idle)}: {they} no command, {NO_IMAGES}")

    async def _set_up_volumes(self) -> bool:
        """Sets up the volumes; False if the pod is stopped before that succeeds."""
        while not self.stopping.is_set():
            try:
                self.mount_sources = await self._volumes.set_up()
                return True
            except ConfigMissing as error:
                self.warn("FailedMount", str(error))
            await self.pause(RETRY)
        return False

    async def _refresh(self) -> None:
        """Keeps volumes with content from the API up to date; the content of deleted objects stays."""
        while self._volumes.refreshable:
            await sleep(self.host.clock, REFRESH)
            with contextlib.suppress(ConfigMissing):
                await self._volumes.refresh(self.object)

    async def _initialize(self, sidecars: list[tuple[Container, asyncio.Task[int]]]) -> bool:
        """Runs init containers one after the other; sidecars keep running."""
        if self._inits:
            for container in self._mains:
                if container.run.last is None and container.run.waiting:
                    container.run.wait(INITIALIZING)
        for container in self._inits:
            if self.stopping.is_set():
                return False
            if is_sidecar(container.spec):
                task = asyncio.create_task(container.run_to_end())
                sidecars.append((container, task))
                await self._either(container.started.wait())
                if task.done():
                    task.result()
            elif container.run.exit_code != 0 and not await self._run_init(container):
                return False
        return not self.stopping.is_set()

    async def _run_init(self, container: Container) -> bool:
        task = asyncio.create_task(container.run_to_end(until_success=True))
        await self._either(asyncio.wait({task}))
        if self.stopping.is_set():
            await container.stop(self._left())
        code = await task
        container.run.ready = code == 0
        self.changed()
        return code == 0

    async def _run_mains(self) -> None:
        for container in self._mains:
            if container.run.waiting == INITIALIZING:
                container.run.wait(CREATING)
        pending = [
            one for one in self._mains if one.run.exit_code is None or self.restarts(one.spec, one.run.exit_code, False)
        ]
        tasks = {asyncio.create_task(container.run_to_end()) for container in pending}
        if not tasks:
            return
        try:
            await self._either(_all(tasks))
            if self.stopping.is_set():
                await self._stop(pending)
            await _all(tasks)
        finally:
            for task in tasks:
                task.cancel()

    async def _stop(self, containers: Sequence[Container]) -> None:
        for container in containers:
            if container.run.running:
                self.event("Killing", f"Stopping container {container.run.name}", container.run.name)
        await asyncio.gather(*(container.stop(self._left()) for container in containers))

    async def _either(self, work: Any) -> None:
        """Waits for `work`, or for the pod to be stopped."""
        working, stopped = asyncio.ensure_future(work), asyncio.ensure_future(self.stopping.wait())
        try:
            await asyncio.wait((working, stopped), return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
        finally:
            working.cancel()
            stopped.cancel()

    async def _watch_deadline(self) -> None:
        seconds = self.object["spec"].get("activeDeadlineSeconds")
        if seconds is not None:
            await sleep(self.host.clock, seconds)
            self.warn("DeadlineExceeded", DEADLINE[1])
            self._reason, self._failed = DEADLINE, True
            self.stop(self.grace)

    def _left(self) -> float:
        """The seconds that are left of the grace period; all of it if the pod is not being stopped."""
        if self._stop_at == math.inf:
            return float(self.grace)
        return max(self._stop_at - asyncio.get_running_loop().time(), 0.0)

    # Status.

    async def _publish(self) -> None:
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            try:
                await self._write()
            except NotFound:
                return
            except KubeError as error:
                log.warning(
                    "a pod's status could not be written", pod=self.object["metadata"]["name"], error=str(error)
                )
                await asyncio.sleep(RETRY)
                self._dirty.set()

    async def _write_final(self) -> None:
        """Writes the final status, however often it takes."""
        while not self._removed:
            try:
                await self._write()
                return
            except NotFound:
                return
            except KubeError:
                await asyncio.sleep(RETRY)

    async def _write(self) -> None:
        metadata = self.object["metadata"]
        change = {"metadata": {"uid": self.uid}, "status": self.status()}
        await self.host.client.patch(
            PODS, metadata["name"], strategic_patch(change), metadata["namespace"], subresource="status"
        )

    def status(self) -> Obj:
        """The pod's current status."""
        known = {one["type"]: one for one in (self.object.get("status") or {}).get("conditions") or ()}
        conditions = list((known | self._conditions).values())
        generation = self.object["metadata"].get("generation") or 1
        view = PodView(self.object["spec"], generation, conditions, self._start_time)
        now = format_time(self.host.clock.now())
        status = pod_status(view, self.runs, now, sandbox=self._set_up, stopping=self._ended)
        if self._ended and self._reason[0] and (status["phase"] == "Failed" or self._failed):
            status |= {"phase": "Failed", "reason": self._reason[0], "message": self._reason[1]}
        self._conditions = {one["type"]: one for one in status["conditions"]}
        return status

    async def remove(self) -> None:
        """Confirms the deletion of a pod of which nothing runs any more."""
        metadata = self.object["metadata"]
        with contextlib.suppress(NotFound):
            await self.host.client.delete(PODS, metadata["name"], metadata["namespace"], grace_period=0, uid=self.uid)

    def _recover(self, status: Mapping[str, Any]) -> None:
        """Restores a pod of an earlier start of the cluster; containers that were running then are not any more."""
        if status.get("phase") in ENDED or not status.get("containerStatuses"):
            return
        restore(self.runs, status)
        if self._terminate_running(LOST[1]):
            self._reason = LOST

    def _terminate_running(self, message: str = "") -> bool:
        """Sets running containers to terminated, with unknown status; returns whether there were any."""
        now = format_time(self.host.clock.now())
        running = [run for run in self.runs.values() if run.running]
        for run in running:
            run.terminate(137, now, "ContainerStatusUnknown", message)
        return bool(running)


async def _all(tasks: set[asyncio.Task[int]]) -> None:
    """Waits for all tasks; the first exception of one is raised at once."""
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    for task in done:
        task.result()
