"""The Node objects: registered when the cluster starts, with a Lease each as heartbeat.

A node that already exists keeps the labels, taints and cordons that users gave it; what the settings name is
overwritten. The heartbeat is one small write per node and period; a node's status is only written at registration.
"""

from __future__ import annotations

import asyncio
import platform
from typing import Any, Final

from jobrelay.apimachinery.times import format_micro_time, format_time
from jobrelay.cluster.node.settings import NodeSettings
from jobrelay.kube import Client
from jobrelay.kube.clock import Clock, sleep
from jobrelay.kube.errors import AlreadyExists, KubeError, NotFound
from jobrelay.kube.objects import Object
from jobrelay.kube.patch import merge_patch, strategic_patch
from jobrelay.kube.resource import LEASES, NODES

VERSION: Final = "v1.35.4"
NOT_READY: Final = "node.kubernetes.io/not-ready"
HEARTBEAT: Final = 60.0
_LEASE_SECONDS: Final = 180
_LEASES: Final = "kube-node-lease"
ADDRESS: Final = "127.0.0.1"
_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_CONDITIONS: Final = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


def node_object(name: str, settings: NodeSettings, now: str) -> dict[str, Any]:
    """A Node object as it is first created."""
    system, architecture = _platform()
    labels = {
        "beta.kubernetes.io/arch": architecture, "beta.kubernetes.io/os": system, "kubernetes.io/arch": architecture,
        "kubernetes.io/hostname": name, "kubernetes.io/os": system, **settings.labels,
    }  # fmt: skip
    spec = {"taints": list(settings.taints)} if settings.taints else {}
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": spec,
        "status": node_status(name, settings, now),
    }  # fmt: skip


def node_status(name: str, settings: NodeSettings, now: str) -> dict[str, Any]:
    capacity = settings.capacity()
    system, architecture = _platform()
    conditions = [
        {"type": kind, "status": status, "reason": reason, "message": message, "lastHeartbeatTime": now,
         "lastTransitionTime": now}
        for kind, status, reason, message in _CONDITIONS
    ]  # fmt: skip
    return {
        "capacity": capacity,
        "allocatable": capacity,
        "addresses": [{"type": "InternalIP", "address": ADDRESS}, {"type": "Hostname", "address": name}],
        "conditions": conditions,
        "nodeInfo": {
            "architecture": architecture, "bootID": "", "machineID": "", "systemUUID": "", "kubeProxyVersion": "",
            "containerRuntimeVersion": f"jobrelay://{settings.runtime}", "kernelVersion": platform.release(),
            "kubeletVersion": VERSION, "operatingSystem": system, "osImage": platform.platform(),
        },
    }  # fmt: skip


def _platform() -> tuple[str, str]:
    """The operating system and architecture, named as in Go."""
    machine = platform.machine()
    return platform.system().lower(), _ARCHITECTURES.get(machine, machine)


class NodeRegistrar:
    """Registers the nodes, then renews their leases."""

    name = "nodes"

    def __init__(self, client: Client, clock: Clock, settings: NodeSettings) -> None:
        self._client, self._clock, self._settings = client, clock, settings
        self._registered = asyncio.Event()

    async def wait_synced(self) -> None:
        """Returns once all nodes are registered, so that no pod is reported unschedulable before."""
        await self._registered.wait()

    async def run(self) -> None:
        for name in self._settings.names():
            await self.register(name)
        self._registered.set()
        while True:
            for name in self._settings.names():
                await self._renew(name)
            await sleep(self._clock, HEARTBEAT)

    async def register(self, name: str) -> None:
        """Creates a node, or updates one of an earlier start."""
        node = node_object(name, self._settings, format_time(self._clock.now()))
        try:
            made = await self._client.create(NODES, node)
            await self._remove_not_ready_taint(made)
        except AlreadyExists:
            labels = {"metadata": {"labels": node["metadata"]["labels"]}}
            await self._client.patch(NODES, name, merge_patch(labels))
            resources = {key: {"$patch": "replace", **node["status"][key]} for key in ("capacity", "allocatable")}
            status = {"status": node["status"] | resources}
            await self._client.patch(NODES, name, strategic_patch(status), subresource="status")

    async def _remove_not_ready_taint(self, made: Object) -> None:
        """Admission taints new nodes until they are ready; these are ready from the start."""
        taints = (made.decode().get("spec") or {}).get("taints") or []
        kept = [taint for taint in taints if taint["key"] != NOT_READY]
        if kept != taints:
            change = {"metadata": {"uid": made.uid}, "spec": {"taints": kept or None}}
            await self._client.patch(NODES, made.name, merge_patch(change))

    async def _renew(self, name: str) -> None:
        spec = {
            "holderIdentity": name, "leaseDurationSeconds": _LEASE_SECONDS,
            "renewTime": format_micro_time(self._clock.now()),
        }  # fmt: skip
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": spec}
        try:
            try:
                await self._client.patch(LEASES, name, merge_patch({"spec": spec}), _LEASES)
            except NotFound:
                await self._client.create(LEASES, lease, _LEASES)
        except KubeError:
            return  # the next heartbeat tries again
