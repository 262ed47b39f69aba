"""Real clusters for tests: started once for all tests of a session, and emptied before each that uses them."""

from __future__ import annotations

import asyncio
import pathlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import Any

import pytest

from jobrelay.kube import (
    Client,
    Connection,
    KubeError,
    NotFound,
    Object,
    Resource,
    Transport,
    find_connection,
    merge_patch,
)
from jobrelay.kube.network import NetworkTransport
from jobrelay.kube.resource import (
    APISERVICES,
    CONFIGMAPS,
    CUSTOMRESOURCEDEFINITIONS,
    EVENTS_CORE,
    JOBS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    SECRETS,
)
from tools.kube import assets
from tools.kube.control_plane import ControlPlane, control_planes

GIVEN = ("default", "kube-system", "kube-public", "kube-node-lease", "jobrelay-system", "jobrelay-worker")
EMPTY_SECONDS = 90


def programs() -> pathlib.Path:
    """The folder with Kubernetes' programs; without them the test is skipped."""
    found = assets.find()
    if found is None:
        pytest.skip(
            f"etcd, kube-apiserver and kube-controller-manager {assets.version()} are not built: {_what_helps()}"
        )
    return found


def _what_helps() -> str:
    return "run `make kube-assets`" if assets.go() else "install Go 1.25 or newer, then run `make kube-assets`"


class Planes:
    """Control planes by name, started when they are first asked for; they end with the stack.

    `ways` are those of the relay, with what they were asked for: identities are made once for all tests.
    """

    def __init__(self, stack: ExitStack, folder: pathlib.Path) -> None:
        self._stack, self._folder = stack, folder
        self._running: dict[str, ControlPlane] = {}
        self.ways: dict[str, tuple[object, Connection]] = {}

    def get(self, names: Sequence[str]) -> list[ControlPlane]:
        if missing := [name for name in names if name not in self._running]:
            self._running |= self._stack.enter_context(control_planes(missing, programs(), self._folder))
        return [self._running[name] for name in names]


class RealCluster:
    """A real cluster as tests use an embedded one: by transports and clients of its administrator."""

    def __init__(self, kubeconfig: pathlib.Path, connection: Connection, transport: Transport) -> None:
        self.kubeconfig, self.connection, self._transport = kubeconfig, connection, transport

    def transport(self) -> Transport:
        return self._transport

    def client(self) -> Client:
        return Client(self._transport)


@asynccontextmanager
async def reached(plane: ControlPlane) -> AsyncIterator[RealCluster]:
    """A cluster over the network, with nothing in it that an earlier test has left."""
    connection = find_connection(plane.kubeconfig)
    async with NetworkTransport(connection) as transport:
        cluster = RealCluster(plane.kubeconfig, connection, transport)
        async with asyncio.timeout(EMPTY_SECONDS):
            await empty(cluster.client())
        yield cluster


async def empty(client: Client) -> None:
    """Remove everything that tests make; return when it is gone.

    An API whose server is gone would hold up namespaces, and finalizers of custom objects their definitions.
    """
    await _remove(client, APISERVICES, lambda each: each.name.endswith(".jobrelay.dev"))
    for each in (await client.list(CUSTOMRESOURCEDEFINITIONS)).items:
        await _release_all(client, each.decode()["spec"])
    await asyncio.gather(
        _remove(client, NAMESPACES, lambda each: each.name not in GIVEN),
        _remove_jobs(client),
        _remove(client, CUSTOMRESOURCEDEFINITIONS),
        *(_remove(client, resource, _is_of_a_test) for resource in (LEASES, SECRETS, CONFIGMAPS)),
    )
    await _remove(client, EVENTS_CORE)


async def _release_all(client: Client, spec: dict[str, Any]) -> None:
    """Take the finalizers of all objects of a definition away."""
    version = next(each["name"] for each in spec["versions"] if each["storage"])
    names, namespaced = spec["names"], spec["scope"] == "Namespaced"
    resource = Resource(spec["group"], version, names["plural"], names["kind"], namespaced=namespaced)
    try:
        held = [each for each in (await client.list(resource)).items if each.metadata.finalizers]
    except NotFound:
        return
    for each in held:
        with suppress(NotFound):
            nothing = merge_patch({"metadata": {"finalizers": None}})
            await client.patch(resource, each.name, nothing, each.namespace or None)


async def _remove_jobs(client: Client) -> None:
    """Jobs first: they would make their pods anew. Nodes last: nobody runs them any more, but pods would go there."""
    await _remove(client, JOBS)
    await _remove(client, PODS)
    await _remove(client, NODES)


def _is_of_a_test(each: Object) -> bool:
    return each.namespace in ("default", "jobrelay-system") and each.name != "kube-root-ca.crt"


async def _remove(client: Client, resource: Resource, what: Callable[[Object], bool] = lambda each: True) -> None:
    while found := [each for each in (await client.list(resource)).items if what(each)]:
        await asyncio.gather(*(_delete(client, resource, each) for each in found))
        await asyncio.sleep(0.1)


async def _delete(client: Client, resource: Resource, each: Object) -> None:
    try:
        if each.metadata.finalizers and resource in (JOBS, PODS):
            nothing = merge_patch({"metadata": {"finalizers": None}})
            await client.patch(resource, each.name, nothing, each.namespace)
        if not each.deleting or resource is PODS:
            await client.delete(resource, each.name, each.namespace, propagation="Background", grace_period=0)
    except NotFound:
        return
    except KubeError as error:
        raise AssertionError(f"{resource.plural} {each.key} cannot be removed: {error}") from error
