"""All nodes of a cluster: their objects, the scheduler, and the runtime that runs their pods."""

from __future__ import annotations

import hashlib
import pathlib
import tempfile

from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.request import ApiRequest
from jobrelay.cluster.apiserver.response import ApiResponse
from jobrelay.cluster.apiserver.streams import PodLogOptions
from jobrelay.cluster.node.logresponses import container_log, scripted_log
from jobrelay.cluster.node.nodes import NodeRegistrar
from jobrelay.cluster.node.pod_scheduler import NAME, PodScheduler
from jobrelay.cluster.node.process.connect import connect
from jobrelay.cluster.node.process.host import PodHost
from jobrelay.cluster.node.process.launcher import Launcher
from jobrelay.cluster.node.process.runtime import ProcessRuntime
from jobrelay.cluster.node.scripted import ScriptedRuntime
from jobrelay.cluster.node.settings import NodeSettings
from jobrelay.control import ControllerContext, Group
from jobrelay.kinds.strategy import Obj
from jobrelay.kube import EVENTS_V1, Client


class NodePool:
    """The nodes of one cluster, run by the context's manager."""

    def __init__(self, context: ControllerContext, settings: NodeSettings) -> None:
        self.settings = settings
        scripted = settings.runtime == "scripted"
        scheduler, kubelet = context.client_of("kube-scheduler"), context.client_of("kubelet")
        recorder = context.recorder(NAME, NAME, client=scheduler, api=EVENTS_V1)
        self.scheduler = PodScheduler(context, scheduler, recorder, record_success=not scripted)
        context.manager.add(NodeRegistrar(kubelet, context.clock, settings), Group.CACHES)
        self.scripted = ScriptedRuntime(context, kubelet, settings.names()) if scripted else None
        if self.scripted is not None:
            context.manager.add(self.scripted.controller, Group.CONTROLLERS)
        self.process = self._process_runtime(context, kubelet) if settings.runtime == "process" else None
        context.manager.add(self.scheduler, Group.CONTROLLERS)

    def logs(self, pod: Obj, container: str, options: PodLogOptions) -> ApiResponse:
        if self.scripted is not None:
            return scripted_log(pod, options)
        assert self.process is not None
        return container_log(self.process.logs(pod["metadata"]["uid"]), pod, container, options)

    def connect(self, pod: Obj, container: str, request: ApiRequest) -> ApiResponse:
        """Runs a command in a container (exec), or connects to its streams (attach)."""
        worker = self.process.worker(pod["metadata"]["uid"]) if self.process is not None else None
        found = worker.container(container) if worker is not None else None
        if found is None or found.process is None or found.process.exited.done():
            name = pod["metadata"]["name"]
            raise errors.bad_request(
                f'cannot {request.info.subresource} into container "{container}" of pod "{name}": it does not run'
            )
        return connect(found, request)

    def _process_runtime(self, context: ControllerContext, client: Client) -> ProcessRuntime:
        settings = self.settings
        folder = (settings.folder or pathlib.Path(tempfile.mkdtemp(prefix="jobrelay-node-"))).absolute()
        mark = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
        recorder = context.recorder("kubelet", settings.names()[0], client=client, api=EVENTS_V1)
        launcher, capacity = Launcher(mark, may_mount=settings.mounts), settings.capacity()
        host = PodHost(client, context.clock, launcher, recorder, folder, capacity, api_address=settings.api_address)
        runtime = ProcessRuntime(context, host, settings.names())
        context.manager.add(host.oom_killer, Group.CONTROLLERS)
        context.manager.add(runtime, Group.CONTROLLERS)
        return runtime


def set_up(context: ControllerContext, settings: NodeSettings) -> NodePool | None:
    """Adds the nodes to a context; with runtime `none` there are no nodes and no scheduler."""
    return None if settings.runtime == "none" else NodePool(context, settings)
