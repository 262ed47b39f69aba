"""One pod as local processes: volumes, init containers in order, sidecars, containers, and its end.

A worker is one task per pod. It keeps what is known about the containers in `ContainerRun`s; whenever that changes, a publisher
writes the status, the latest state only, so a burst of changes costs one write.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import structlog

from jobrelay.apimachinery.times import format_time
from jobrelay.cluster.node.life import DEADLINE
from jobrelay.cluster.node.process.container import Container
from jobrelay.cluster.node.process.environment import ConfigMissing
from jobrelay.cluster.node.process.host import Host, Objects
from jobrelay.cluster.node.process.launcher import StartError
from jobrelay.cluster.node.process.podlogs import PodLogs
from jobrelay.cluster.node.process.volumes import Place, Volumes
from jobrelay.cluster.node.status import (
    CREATING,
    ENDED,
    INITIALIZING,
    RUNNING,
    TERMINATED,
    WAITING,
    ContainerRun,
    Obj,
    PodView,
    pod_status,
    restore,
    terminated,
)
from jobrelay.kinds.core.pod.common import is_sidecar
from jobrelay.kinds.core.pod.status import may_restart
from jobrelay.kube.clock import sleep
from jobrelay.kube.errors import KubeError, NotFound
from jobrelay.kube.events import Reference
from jobrelay.kube.patch import strategic_patch
from jobrelay.kube.resource import PODS

log = structlog.get_logger(__name__)
RETRY: Final = 2.0
REFRESH: Final = 10.0
NOT_PULLED: Final = "Images are not pulled: the commands of containers run as processes of this machine, as the user who started the cluster"
NO_MOUNTS: Final = (
    "This system allows no mounts of a pod's own: "
    "mount paths in commands are replaced, and volumes are found through JOBRELAY_MOUNT_<VOLUME>"
)
UNEXPECTED: Final = "UnexpectedError"
LOST: Final = ("NodeRestarted", "The cluster was stopped while the pod was running")


class PodWorker:
    """Runs one pod from its binding to its end."""

    def __init__(self, host: Host, pod: Obj) -> None:
        self.host, self.object = host, pod
        self.uid: str = pod["metadata"]["uid"]
        self.folder = host.pod_folder(self.uid)
        self.logs = PodLogs(self.folder / "logs")
        self.objects = Objects(host.client, host.clock, pod["metadata"]["namespace"])
        self._volumes = Volumes(
            pod, self.folder, self.objects, lambda wanted: self.objects.token(self.object, wanted), host.capacity
        )
        self.places: dict[str, Place] = {}
        self.stopping = asyncio.Event()
        self.grace: int = pod["spec"].get("terminationGracePeriodSeconds") or 0
        self.gone = False
        self._stop_at = math.inf
        self._reason: tuple[str, str] = ("", "")
        self._failed = False
        self._conditions: dict[str, Obj] = {}
        self._news, self._over, self._sandbox = asyncio.Event(), False, False
        self._start_time: str = (pod.get("status") or {}).get("startTime") or format_time(host.clock.now())
        spec = pod["spec"]
        self.runs = {c["name"]: ContainerRun(c["name"], c.get("image", "")) for c in self._specs()}
        self._inits = [Container(self, c, self.runs[c["name"]]) for c in spec.get("initContainers") or ()]
        self._mains = [Container(self, c, self.runs[c["name"]]) for c in spec["containers"]]
        self._recover(pod.get("status") or {})

    def _specs(self) -> list[Mapping[str, Any]]:
        return [*(self.object["spec"].get("initContainers") or ()), *self.object["spec"]["containers"]]

    def container(self, name: str) -> Container | None:
        return next((one for one in (*self._inits, *self._mains) if one.run.name == name), None)

    # What others ask for.

    def stop(self, grace: float) -> None:
        """The pod is to end within `grace` seconds; asked again, it may only be sooner."""
        loop = asyncio.get_running_loop()
        sooner = loop.time() + grace < self._stop_at
        self._stop_at = min(self._stop_at, loop.time() + grace)
        if self.stopping.is_set() and sooner:
            loop.call_later(grace, self._kill_all)
        self.stopping.set()

    def _kill_all(self) -> None:
        for container in (*self._inits, *self._mains):
            container.kill()

    def changed(self) -> None:
        self._news.set()

    def tell(self, reason: str, text: str, container: str = "") -> None:
        self._event("Normal", reason, text, container)

    def warn(self, reason: str, text: str, container: str = "") -> None:
        self._event("Warning", reason, text, container)

    def _event(self, kind: Any, reason: str, text: str, container: str) -> None:
        metadata = self.object["metadata"]
        listed = "initContainers" if any(one.run.name == container for one in self._inits) else "containers"
        part = f"spec.{listed}{{{container}}}" if container else ""
        about = Reference("v1", "Pod", metadata["name"], metadata["namespace"], self.uid, part)
        self.host.recorder.event(about, kind, reason, text, action=reason)

    async def pause(self, seconds: float) -> None:
        """Waits, but not longer than until the pod is to stop."""
        waiting = [asyncio.ensure_future(sleep(self.host.clock, seconds)), asyncio.ensure_future(self.stopping.wait())]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()

    def restarts(self, container: Mapping[str, Any], code: int, until_success: bool) -> bool:
        """Whether a container that ended so starts again."""
        if until_success and code == 0:
            return False
        return may_restart(container, self.object["spec"], code)

    # The pod's life.

    async def run(self) -> None:
        publisher = asyncio.create_task(self._publish())
        try:
            await self._live()
        except Exception as error:  # whatever it was, the pod must not seem to run for ever
            log.exception("a pod could not be run", pod=self.object["metadata"]["name"], uid=self.uid)
            self._reason, self._failed = (UNEXPECTED, f"The node could not run the pod: {error!r}"), True
            self._break_off()
        finally:
            self._kill_all()
            publisher.cancel()
            await asyncio.wait({publisher})
            self.logs.close()
        self._over = True
        await self._write_until_done()
        if self.object["metadata"].get("deletionTimestamp"):
            await self.remove()

    async def _live(self) -> None:
        self.changed()
        if not await self._node_ready() or not await self._lay_out():
            return
        self._sandbox = True
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
        """Waits until processes can be started; False when the pod is stopped before."""
        while not self.stopping.is_set():
            try:
                await self.host.launcher.ready()
            except StartError as error:
                self.warn("FailedCreatePodSandBox", f"Failed to create pod sandbox: {error}")
                await self.pause(RETRY)
                continue
            if not self.host.told:
                self.host.told = True
                self.tell("ImageNotPulled", NOT_PULLED)
                if not self.host.launcher.mounts:
                    self.warn("NoMounts", NO_MOUNTS)
            return True
        return False

    async def _lay_out(self) -> bool:
        """Makes the volumes; False when the pod is stopped before they could be made."""
        while not self.stopping.is_set():
            try:
                self.places = await self._volumes.lay_out()
                return True
            except ConfigMissing as error:
                self.warn("FailedMount", str(error))
            await self.pause(RETRY)
        return False

    async def _refresh(self) -> None:
        """Brings what volumes show of the API up to date; what has gone meanwhile stays as it was."""
        while self._volumes.change:
            await sleep(self.host.clock, REFRESH)
            self._volumes.pod = self.object
            with contextlib.suppress(ConfigMissing):
                await self._volumes.refresh()

    async def _initialize(self, sidecars: list[tuple[Container, asyncio.Task[int]]]) -> bool:
        """Runs init containers one after the other; sidecars stay."""
        if self._inits:
            for container in self._mains:
                if container.run.last is None and WAITING in container.run.state:
                    container.run.state = {WAITING: {"reason": INITIALIZING}}
        for container in self._inits:
            if self.stopping.is_set():
                return False
            if is_sidecar(container.spec):
                task = asyncio.create_task(container.live())
                sidecars.append((container, task))
                await self._either(container.up.wait())
                if task.done():
                    task.result()
            elif container.run.exit_code != 0 and not await self._run_init(container):
                return False
        return not self.stopping.is_set()

    async def _run_init(self, container: Container) -> bool:
        task = asyncio.create_task(container.live(until_success=True))
        await self._either(asyncio.wait({task}))
        if self.stopping.is_set():
            await container.stop(self._left())
        code = await task
        container.run.ready = code == 0
        self.changed()
        return code == 0

    async def _run_mains(self) -> None:
        for container in self._mains:
            if container.run.state == {WAITING: {"reason": INITIALIZING}}:
                container.run.state = {WAITING: {"reason": CREATING}}
        todo = [
            one for one in self._mains if one.run.exit_code is None or self.restarts(one.spec, one.run.exit_code, False)
        ]
        tasks = {asyncio.create_task(container.live()) for container in todo}
        if not tasks:
            return
        try:
            await self._either(_all(tasks))
            if self.stopping.is_set():
                await self._stop(todo)
            await _all(tasks)
        finally:
            for task in tasks:
                task.cancel()

    async def _stop(self, containers: Sequence[Container]) -> None:
        for container in containers:
            if RUNNING in container.run.state:
                self.tell("Killing", f"Stopping container {container.run.name}", container.run.name)
        await asyncio.gather(*(container.stop(self._left()) for container in containers))

    async def _either(self, work: Any) -> None:
        """Waits for something, or for the pod to be stopped."""
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
        """How many seconds of grace are left; all of it while nobody asked for an end."""
        if self._stop_at == math.inf:
            return float(self.grace)
        return max(self._stop_at - asyncio.get_running_loop().time(), 0.0)

    # What is written.

    async def _publish(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                await self._write()
            except NotFound:
                return
            except KubeError as error:
                log.warning(
                    "a pod's status could not be written", pod=self.object["metadata"]["name"], error=str(error)
                )
                await asyncio.sleep(RETRY)
                self._news.set()

    async def _write_until_done(self) -> None:
        while not self.gone:
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
        """The pod's status as it is now."""
        known = {one["type"]: one for one in (self.object.get("status") or {}).get("conditions") or ()}
        conditions = list((known | self._conditions).values())
        generation = self.object["metadata"].get("generation") or 1
        view = PodView(self.object["spec"], generation, conditions, self._start_time)
        now = format_time(self.host.clock.now())
        status = pod_status(view, self.runs, now, sandbox=self._sandbox, stopping=self._over)
        if self._over and self._reason[0] and (status["phase"] == "Failed" or self._failed):
            status |= {"phase": "Failed", "reason": self._reason[0], "message": self._reason[1]}
        self._conditions = {one["type"]: one for one in status["conditions"]}
        return status

    async def remove(self) -> None:
        """The last word about a pod that was to go: nothing of it runs any more."""
        metadata = self.object["metadata"]
        with contextlib.suppress(NotFound):
            await self.host.client.delete(PODS, metadata["name"], metadata["namespace"], grace_period=0, uid=self.uid)

    def _recover(self, status: Mapping[str, Any]) -> None:
        """Takes up a pod of an earlier start of the cluster: what ran then runs no more."""
        if status.get("phase") in ENDED or not status.get("containerStatuses"):
            return
        restore(self.runs, status)
        if self._break_off(LOST[1]):
            self._reason = LOST

    def _break_off(self, message: str = "") -> bool:
        """Writes down as ended what was running; whether there was any."""
        now = format_time(self.host.clock.now())
        broken = [run for run in self.runs.values() if RUNNING in run.state]
        for run in broken:
            began = run.state[RUNNING].get("startedAt", now)
            run.state = {TERMINATED: terminated(
                137, started=began, finished=now, reason="ContainerStatusUnknown", message=message, id=run.id
            )}  # fmt: skip
            run.ready = run.started = False
        return bool(broken)


async def _all(tasks: set[asyncio.Task[int]]) -> None:
    """Waits for all tasks; raises what one of them raised, at once."""
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    for task in done:
        task.result()
