"""Opens a command in a pod of a workload: through the relay's API, or where that is not served, on the worker itself.

The API needs no rights but the caller's own. The worker is reached by the kubeconfig in its Secret, which only
operators may read.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobrelay.kube import Connection, Forbidden, connect
from jobrelay.kube.remote_command import LARGEST_MESSAGE, PROTOCOLS, command_query
from jobrelay.kube.resource import PODS
from jobrelay.operate.errors import OperateError
from jobrelay.operate.registry import worker_connection
from jobrelay.operate.relay_client import NotServed, NotStarted, api_exec
from jobrelay.relay.mirror_pods.choosing import NotChosen, PodProblem, choose_pod, worker_forbids
from jobrelay.relay.mirror_pods.listing import MirrorPods
from jobrelay.relay.worker_assignment import assignment_of
from jobrelay.sdk.errors import RelayError
from jobrelay.sdk.pod_logs import mirrors_of
from jobrelay.sdk.relay import AsyncRelay, WorkloadLike
from jobrelay.sdk.workloads import get_workload
from jobrelay.workloads import Adapter

if TYPE_CHECKING:
    from aiohttp import ClientWebSocketResponse

__all__ = ["PodCommand", "open_command"]


@dataclass(frozen=True, slots=True)
class PodCommand:
    """A command, the pod and container in which it runs if they are not the only ones, and its streams."""

    words: tuple[str, ...]
    container: str = ""
    pod: str = ""
    index: int | None = None
    stdin: bool = False
    tty: bool = False

    def query(self, container: str) -> list[tuple[str, str]]:
        return command_query(list(self.words), container, stdin=self.stdin, tty=self.tty)

    @property
    def which(self) -> list[tuple[str, str]]:
        """The pod, for the relay's API."""
        given = {"pod": self.pod, "index": "" if self.index is None else str(self.index)}
        return [(name, value) for name, value in given.items() if value]


@asynccontextmanager
async def open_command(
    relay: AsyncRelay, connection: Connection, workload: WorkloadLike, command: PodCommand
) -> AsyncIterator[ClientWebSocketResponse]:
    """The streams of a command that has begun; `connection` is that of the relay's client. Raises RelayError and
    KubeError."""
    adapter, name, namespace = await relay.find(workload)
    query = [*command.query(command.container), *command.which]
    try:
        async with api_exec(relay.client, connection, adapter.resource, name, namespace, query) as socket:
            yield socket
            return
    except NotStarted as error:
        raise _why(str(error), adapter, name, namespace) from None
    except NotServed as error:
        missing = error
    try:
        async with _open_on_worker(relay, adapter, name, namespace, command) as socket:
            yield socket
    except (Forbidden, OperateError) as error:
        raise error if isinstance(error, RelayError) else missing from error


def _why(message: str, adapter: Adapter, name: str, namespace: str) -> RelayError:
    return RelayError(message, f"`jobrelay explain {adapter.resource}/{name} -n {namespace}` says why")


@asynccontextmanager
async def _open_on_worker(
    relay: AsyncRelay, adapter: Adapter, name: str, namespace: str, command: PodCommand
) -> AsyncIterator[ClientWebSocketResponse]:
    from jobrelay.kube.websocket import open_websocket

    original = await get_workload(relay.client, adapter, name, namespace)
    described, to = f"{adapter.resource.kind} {original.key}", assignment_of(original)
    if to is None:
        raise _why(f"no worker runs {described} yet", adapter, name, namespace)
    way = await worker_connection(relay.client, to.cluster, relay.relay_namespace)
    async with connect(way, brief=True) as there:
        pods = [
            pod
            for mirror in await mirrors_of(there, adapter, original)
            for pod in await MirrorPods(there, adapter, mirror).list()
        ]
    index = "" if command.index is None else str(command.index)
    chosen = choose_pod(pods, described, pod=command.pod, index=index, container=command.container)
    if isinstance(chosen, NotChosen):
        raise _not_chosen(chosen, adapter, name, namespace)
    path = PODS.path(chosen.pod.namespace, chosen.pod.name, "exec")
    query = command.query(chosen.container)
    try:
        async with open_websocket(way, path, query, protocols=PROTOCOLS, largest=LARGEST_MESSAGE) as socket:
            yield socket
    except Forbidden as error:
        raise RelayError(*worker_forbids(to.cluster, namespace, str(error))) from error


def _not_chosen(found: NotChosen, adapter: Adapter, name: str, namespace: str) -> RelayError:
    if found.problem is PodProblem.NONE_RUNS:
        return _why(found.message, adapter, name, namespace)
    return RelayError(found.message, "choose one by --pod NAME or --index N")
