"""Real Kueue on a management cluster and on some of its workers, and the relay beside it.

The management cluster's Kueue can be started with its own MultiKueue controller or without: the tool that starts it
takes no feature gates, so it is given a program that adds them to Kueue's configuration and starts Kueue.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import pathlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from jobrelay.kube import AlreadyExists, Client, NotFound, Object, Resource, SystemClock, find_connection, merge_patch
from jobrelay.kube.network import NetworkTransport
from jobrelay.kube.resource import JOBS, NAMESPACES, SECRETS
from jobrelay.relay.multikueue.dispatching import DEFAULT_DISPATCHING, Dispatching
from jobrelay.relay.multikueue.views import CHECKS, CONFIGS, WORKLOADS
from jobrelay.relay.relay import RelayManager
from jobrelay.relay.settings import Settings
from jobrelay.relay.workers import ObjectSource, Timing
from jobrelay.relay.workers.multikueue import CLUSTERS
from jobrelay.workloads.names import MULTIKUEUE

from . import clusters, programs
from .managers import Manager, load
from .stage import Wires, resource_of, serve_alike

KUEUE: Final = "kueue-system"
MULTIKUEUE_CLUSTERS: Final = CLUSTERS["v1beta2"]
SECONDS: Final = 60.0
ORIGIN: Final = "multikueue"
"""That of Kueue's own controller, so that what one of the two has made is the other's too."""
_WRAPPER: Final = """#!/bin/sh
config=${1#--config=}
sed -i '%s' "$config"
exec %s "$@"
"""
_NO_GATES: Final = "VisibilityOnDemand: false"


def queues(cpu: str = "4", *, check: str = "", queue: str = "team") -> list[dict[str, Any]]:
    """A flavor, a ClusterQueue with some CPU, and a LocalQueue."""
    version = "kueue.x-k8s.io/v1beta2"
    flavors = [{"name": "plain", "resources": [{"name": "cpu", "nominalQuota": cpu}]}]
    spec: dict[str, Any] = {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
        "preemption": {"withinClusterQueue": "LowerPriority"},
    }
    if check:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": check}]}
    local = {"metadata": {"name": queue, "namespace": "default"}, "spec": {"clusterQueue": "shared"}}
    return [
        {"apiVersion": version, "kind": "ResourceFlavor", "metadata": {"name": "plain"}},
        {"apiVersion": version, "kind": "ClusterQueue", "metadata": {"name": "shared"}, "spec": spec},
        {"apiVersion": version, "kind": "LocalQueue", **local},
    ]


def queued_job(name: str, seconds: float = 1, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    """A Job for the queue that MultiKueue's check is about."""
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}
    template = {
        "metadata": {"annotations": {"jobrelay.dev/run-seconds": str(seconds)}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    labels = {"kueue.x-k8s.io/queue-name": "team"}
    whole = {"template": template, "managedBy": MULTIKUEUE, "suspend": True, **spec}
    metadata = {"name": name, "namespace": "default", "labels": labels}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": whole}


@dataclass
class Installation:
    """A management cluster with Kueue, and workers, some of which run Kueue too."""

    folder: pathlib.Path
    kubeconfigs: Mapping[str, pathlib.Path]
    clients: Mapping[str, Client]
    manager: Manager
    edits: Sequence[str] = ()
    """Further commands of sed for the configuration of Kueue on the management cluster."""

    @property
    def home(self) -> Client:
        return self.clients["management"]

    @asynccontextmanager
    async def kueue(self, *, multikueue: bool) -> AsyncIterator[None]:
        """Kueue at work on the management cluster, with its own MultiKueue controller or without."""
        scratch = self.folder / f"kueue-{len(list(self.folder.glob('kueue-*')))}"
        gate = f"s/{_NO_GATES}/&\\n  MultiKueue: {str(multikueue).lower()}/"
        edits = ";".join((gate, *self.edits))
        async with edited(self.manager, self.kubeconfigs["management"], scratch, edits):
            yield

    async def configure(self, cpu: str = "20") -> None:
        """Queues on the management cluster, the check, and the workers in Kueue's namespace."""
        names = await self.register()
        await self.home.create(CONFIGS, of(CONFIGS) | {"metadata": {"name": "all"}, "spec": {"clusters": names}})
        parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "all"}
        spec = {"controllerName": MULTIKUEUE, "parameters": parameters}
        await self.home.create(CHECKS, of(CHECKS) | {"metadata": {"name": "mk"}, "spec": spec})
        await create_all(self.home, queues(cpu, check="mk"))

    async def register(self) -> list[str]:
        """Register all workers on the management cluster, unless they are; their names."""
        names = [name for name in self.clients if name != "management"]
        for name in names:
            text = base64.b64encode(self.kubeconfigs[name].read_bytes()).decode()
            secret = {"metadata": {"name": name}, "data": {"kubeconfig": text}}
            source = {"kubeConfig": {"location": name, "locationType": "Secret"}}
            body = {"metadata": {"name": name}, "spec": {"clusterSource": source}}
            with contextlib.suppress(AlreadyExists):
                await self.home.create(SECRETS, secret, KUEUE)
                await self.home.create(MULTIKUEUE_CLUSTERS, of(MULTIKUEUE_CLUSTERS) | body)
        return names

    async def name_workers(self, *names: str) -> None:
        """Let the MultiKueueConfig name only these."""
        await self.home.patch(CONFIGS, "all", merge_patch({"spec": {"clusters": list(names)}}))

    @asynccontextmanager
    async def relay(
        self, how: Dispatching = DEFAULT_DISPATCHING, *, wires: Wires | None = None, **settings: Any
    ) -> AsyncIterator[RelayManager]:
        """The relay at work, with the workers that are registered for Kueue; `wires` can cut them off."""
        chosen = Settings(ORIGIN, **{"keep_finished": 2.0, "loss_event_after": 0, **settings})
        relay = RelayManager(
            self.home, ObjectSource(self.home, namespace=KUEUE, clock=SystemClock()), chosen,
            timing=Timing(longest_pause=1.0), multikueue=how, connect=(wires or Wires()).connect,
        )  # fmt: skip
        running = asyncio.create_task(relay.run())
        try:
            yield relay
        finally:
            running.cancel()
            await asyncio.wait({running})
            if not running.cancelled() and (error := running.exception()) is not None:
                raise error

    async def submit(self, name: str, **more: Any) -> Object:
        return await self.home.create(JOBS, queued_job(name, **more))

    async def job(self, name: str) -> dict[str, Any]:
        return (await self.home.get(JOBS, name, "default")).decode()

    async def workload(self, name: str, resource: str = "Job") -> dict[str, Any]:
        """The Workload of a Job on the management cluster; empty while there is none."""
        for each in (await self.home.list(WORKLOADS, "default")).items:
            owner = each.metadata.controller
            if owner is not None and (owner.kind, owner.name) == (resource, name):
                return each.decode()
        return {}

    async def on(self, worker: str, name: str, resource: Resource = JOBS) -> Object | None:
        try:
            return await self.clients[worker].get(resource, name, "default")
        except NotFound:
            return None

    async def until(self, what: Callable[[], Any], seconds: float = SECONDS) -> Any:
        async with asyncio.timeout(seconds):
            while not (found := await what()):
                await asyncio.sleep(0.1)
        return found

    async def admitted(self, name: str, kind: str = "Job") -> str:
        """Wait until a Job is admitted; the name of its worker."""

        async def found() -> str:
            status = (await self.workload(name, kind)).get("status", {})
            return str(status.get("clusterName", "")) if is_true(status, "Admitted") else ""

        return str(await self.until(found))

    async def finished(self, name: str, kind: str = "Job") -> dict[str, Any]:
        """Wait until the Workload is finished; its condition."""

        async def found() -> dict[str, Any] | None:
            status = (await self.workload(name, kind)).get("status", {})
            return is_true(status, "Finished")

        return dict(await self.until(found))

    async def runs(self, name: str) -> None:
        """Wait until a Job shows that its pod runs."""

        async def found() -> bool:
            return (await self.job(name)).get("status", {}).get("active") == 1

        await self.until(found)

    async def gone(self, worker: str, name: str, resource: Resource = JOBS) -> None:
        async def found() -> bool:
            return await self.on(worker, name, resource) is None

        await self.until(found)


def is_true(status: Mapping[str, Any], type_: str) -> dict[str, Any] | None:
    """The condition of a status, if it is true."""
    conditions = status.get("conditions") or ()
    return next((one for one in conditions if one["type"] == type_ and one["status"] == "True"), None)


def of(resource: Resource) -> dict[str, Any]:
    return {"apiVersion": resource.api_version, "kind": resource.kind}


async def create_all(client: Client, objects: Sequence[dict[str, Any]]) -> None:
    for each in objects:
        resource = resource_of(each)
        namespaced = "namespace" in each["metadata"]
        kind = Resource(resource.group, resource.version, resource.plural, resource.kind, namespaced=namespaced)
        await client.create(kind, each)


@contextlib.contextmanager
def _environment(**values: str) -> Any:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@asynccontextmanager
async def edited(manager: Manager, kubeconfig: pathlib.Path, scratch: pathlib.Path, edits: str) -> AsyncIterator[None]:
    """Kueue at work on a cluster, with a configuration that commands of sed have changed."""
    tools = scratch / "oracle" / "adopters"
    tools.mkdir(parents=True)
    [real] = programs.folder().glob("kueue-v*")
    wrapper = tools / real.name
    wrapper.write_text(_WRAPPER % (edits, real))
    wrapper.chmod(0o755)
    with _environment(KUBE_ORACLE=str(tools.parent)):
        starting = programs.running(manager, kubeconfig, scratch)
        await starting.__aenter__()
    try:
        yield
    finally:
        await starting.__aexit__(None, None, None)


@asynccontextmanager
async def installation(
    folder: pathlib.Path,
    plain: Sequence[str] = (),
    queued: Sequence[str] = (),
    *,
    cpu: str = "4",
    others: Sequence[str] = (),
) -> AsyncIterator[Installation]:
    """Embedded clusters, with Kueue at work on those of `queued`; on the management cluster it is not started yet.

    `others` are managers that run on all workers, and whose kinds the management cluster serves.
    """
    manager = load("kueue")
    async with AsyncExitStack() as stack:
        kubeconfigs, clients = {}, {}
        for name in ("management", *plain, *queued):
            (folder / name).mkdir(parents=True)
            kubeconfigs[name] = await stack.enter_async_context(clusters.embedded(folder / name))
            transport = NetworkTransport(find_connection(kubeconfigs[name]))
            clients[name] = Client(await stack.enter_async_context(transport))
        for other in map(load, others):
            everywhere = {kubeconfigs[name]: folder / name for name in (*plain, *queued)}
            await stack.enter_async_context(programs.all_running(other, everywhere))
        if others:
            await serve_alike(clients[next(iter((*plain, *queued)))], clients["management"])
        where = {kubeconfigs[name]: folder / name for name in queued}
        await stack.enter_async_context(programs.all_running(manager, where))
        for name in queued:
            await create_all(clients[name], queues(cpu))
        await clients["management"].create(NAMESPACES, {"metadata": {"name": "jobrelay-system"}})
        yield Installation(folder, kubeconfigs, clients, manager)
