"""Runtime `process`: runs a pod worker for each pod that is bound to a node of this cluster."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from jobrelay.cluster.node.process.host import PodHost
from jobrelay.cluster.node.process.logs import PodLogs
from jobrelay.cluster.node.process.pod import PodWorker
from jobrelay.cluster.node.status import ENDED
from jobrelay.control import ControllerContext
from jobrelay.kube.objects import Object
from jobrelay.kube.resource import PODS
from jobrelay.logs import get_logger

log = get_logger(__name__)


class ProcessRuntime:
    """Runs the pods on some nodes as local processes."""

    name = "process pods"

    def __init__(self, context: ControllerContext, host: PodHost, nodes: Sequence[str]) -> None:
        self._host, self._nodes = host, frozenset(nodes)
        self._pods = context.cache(PODS)
        self._workers: dict[str, PodWorker] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._remover = ThreadPoolExecutor(1, "pod-folders")  # removing folders that were mount points is slow

    async def run(self) -> None:
        """Runs pods until cancelled, then ends all of their processes."""
        self._host.prepare()
        await self._clean_up()
        unsubscribe = self._pods.subscribe(self._changed)
        try:
            await asyncio.Event().wait()
        finally:
            unsubscribe()
            for task in self._tasks.values():
                task.cancel()
            await self._host.launcher.stop()
            if self._tasks:
                await asyncio.wait(self._tasks.values())
            await asyncio.to_thread(self._remover.shutdown)

    def worker(self, uid: str) -> PodWorker | None:
        return self._workers.get(uid)

    def logs(self, uid: str) -> PodLogs:
        worker = self._workers.get(uid)
        return worker.logs if worker is not None else PodLogs(self._host.pod_folder(uid) / "logs")

    def _changed(self, old: Object | None, new: Object | None) -> None:
        if old is not None and (new is None or new.uid != old.uid):
            self._removed(old.uid)
        if new is None:
            return
        worker = self._workers.get(new.uid)
        if worker is None:
            self._added(new)
        else:
            worker.update(new.decode())

    def _added(self, new: Object) -> None:
        pod = new.decode()
        if pod["spec"].get("nodeName") not in self._nodes:
            return
        if (pod.get("status") or {}).get("phase") in ENDED:
            if new.deleting and pod["metadata"].get("deletionGracePeriodSeconds") != 0:
                self._start(new.uid, PodWorker(self._host, pod).remove())
            return
        if new.uid in self._tasks:
            return
        worker = self._workers[new.uid] = PodWorker(self._host, pod)
        worker.update(pod)
        self._start(new.uid, self._run(worker))

    def _start(self, uid: str, work: object) -> None:
        task: asyncio.Task[None] = asyncio.ensure_future(work)  # type: ignore[call-overload]
        self._tasks[uid] = task
        task.add_done_callback(lambda task: self._ended(uid, task))

    async def _run(self, worker: PodWorker) -> None:
        try:
            await worker.run()
        finally:
            self._workers.pop(worker.uid, None)

    def _ended(self, uid: str, task: asyncio.Task[None]) -> None:
        self._tasks.pop(uid, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a pod worker failed", uid=uid, error=repr(error), exc_info=error)
        current = next((pod for pod in self._pods if pod.uid == uid), None)
        if current is None:
            self._remove_folder(uid)
        elif current.deleting and not task.cancelled():
            self._changed(None, current)

    def _removed(self, uid: str) -> None:
        """A pod is gone from the API, at once or after its grace period."""
        worker = self._workers.get(uid)
        if worker is not None:
            worker.removed()
        elif uid not in self._tasks:
            self._remove_folder(uid)

    async def _clean_up(self) -> None:
        """Removes what pods of an earlier start left behind; starting the supervisor ends their processes."""
        left = list((self._host.folder / "pods").iterdir())
        if left:
            await self._host.launcher.ready()
        known = {pod.uid for pod in self._pods}
        for folder in left:
            if folder.name not in known:
                self._remove_folder(folder.name)

    def _remove_folder(self, uid: str) -> None:
        folder = self._host.pod_folder(uid)
        if folder.exists():
            self._remover.submit(shutil.rmtree, folder, ignore_errors=True)
