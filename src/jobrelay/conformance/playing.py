"""Plays the pods of a run, for a cluster that has no nodes: stands in for the scheduler and for kubelets.

Only pods with the run's label are touched. Each is bound to a node that does not exist, one for each Job, and then goes
through its life as its annotations say, as scripted pods of an embedded cluster do. Pod garbage collection ends pods of
missing nodes, but gives each node forty seconds to appear; the Jobs of scenarios do not last as long.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress

from jobrelay.cluster.node.scripted import ScriptedRuntime
from jobrelay.conformance.workspace import PREFIX, RUN
from jobrelay.control import Controller, ControllerContext
from jobrelay.kinds.batch.job.names import JOB_NAME
from jobrelay.kube import Client, Clock, Conflict, Key, NotFound, Object
from jobrelay.kube.resource import NODES, PODS

__all__ = ["PodPlayer", "has_nodes"]


async def has_nodes(client: Client) -> bool:
    """Whether somebody else runs the pods of this cluster."""
    return bool((await client.list(NODES)).items)


class PodPlayer:
    """Plays the pods of one run's Jobs, whose names are given."""

    def __init__(self, client: Client, namespace: str, run: str, jobs: Iterable[str], clock: Clock) -> None:
        self._run = run
        self._context = ControllerContext(
            client.transport, program="jobrelay-conformance", clock=clock, namespace=namespace
        )
        self._client = self._context.client
        self._pods = self._context.cache(PODS)
        binder: Controller[Key] = Controller("binder", self._bind, clock=clock)
        binder.watch(self._pods, self._unbound)
        runtime = ScriptedRuntime(self._context, self._client, [self._node(name) for name in jobs])
        for controller in (binder, runtime.controller):
            self._context.add(controller)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Play while the block runs."""
        running = asyncio.create_task(self._context.manager.run())
        try:
            yield
        finally:
            running.cancel()
            await asyncio.wait({running})

    def _node(self, job: str) -> str:
        return f"{PREFIX}{self._run}-{job}"

    def _unbound(self, old: Object | None, new: Object | None) -> Iterable[Key]:
        if new is None or new.deleting or new.metadata.labels.get(RUN) != self._run:
            return ()
        return () if new.decode()["spec"].get("nodeName") else (new.key,)

    async def _bind(self, key: Key) -> None:
        pod = self._pods.get(key)
        if pod is None or pod.deleting:
            return
        target = {"kind": "Node", "name": self._node(pod.metadata.labels.get(JOB_NAME, ""))}
        body = {"kind": "Binding", "apiVersion": "v1", "metadata": {"name": pod.name}, "target": target}
        with suppress(NotFound, Conflict):
            await self._client.create(PODS, body, pod.namespace, name=pod.name, subresource="binding")
