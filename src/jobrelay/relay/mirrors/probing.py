"""Asks one worker by dry runs whether it would accept workloads, and whether it has what they name.

Workloads that get the same answers are asked for once; the others wait for the answer.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from jobrelay.kube import AlreadyExists, KubeError, StatusError
from jobrelay.kube.resource import NAMESPACES
from jobrelay.relay.copying.worker import WorkerDependencies
from jobrelay.relay.leader_transport import NotLeading
from jobrelay.relay.mirrors.context import FIELD_MANAGER, MirrorContext, may_be_transient
from jobrelay.relay.reconcile_mirror import mirror_parameters
from jobrelay.relay.snapshot import WorkloadSnapshot
from jobrelay.relay.workload_kind import WorkloadRef, mirror_name

_RETRY_PROBE: Final = 5.0
_PATIENCE: Final = 2
"""How often in a row a worker may put off a dry run before that counts as a refusal."""


class WorkerProbes:
    """The probes of one worker."""

    def __init__(self, context: MirrorContext, dependencies: WorkerDependencies) -> None:
        self._context, self._dependencies = context, dependencies
        self._running: dict[str, dict[WorkloadRef, None]] = {}
        """By `group`: the workloads that wait for the answer to a running probe."""

    async def probe(self, ref: WorkloadRef, snapshot: WorkloadSnapshot) -> None:
        """Ask what is not known yet, and have all workloads reconciled that waited for the answer."""
        context, group = self._context, snapshot.group
        waiting = self._running.get(group)
        if waiting is not None:
            waiting[ref] = None
            return
        self._running[group] = {ref: None}
        try:
            if not snapshot.accepted(context.worker.name):
                await self._dry_run(ref, snapshot)
            else:
                await self._find_dependencies(snapshot)
        finally:
            for each in self._running.pop(group):
                context.enqueue_original(each)

    async def _find_dependencies(self, snapshot: WorkloadSnapshot) -> None:
        """Ask for what the workload names, as far as that is not known."""
        try:
            await self._dependencies.ask(snapshot)
        except NotLeading:
            raise
        except KubeError as error:
            self._context.refused(snapshot, error, same_shape=False, retry_after=_RETRY_PROBE)

    async def _dry_run(self, ref: WorkloadRef, snapshot: WorkloadSnapshot) -> None:
        context, worker = self._context, self._context.worker
        name = mirror_name(ref.key, own_cluster=worker.is_self)
        body = snapshot.adapter.mirror(snapshot.original, mirror_parameters(snapshot, None, name))
        try:
            await self._ensure_namespace(ref.key.namespace)
            await worker.client.create(snapshot.adapter.resource, body, dry_run=True, field_manager=FIELD_MANAGER)
        except AlreadyExists:
            pass  # the shape is fine; whose object has the name is found out when the mirror is created
        except StatusError as error:
            if error.retry_after and may_be_transient(error) and context.queue.queue.failures(ref) < _PATIENCE:
                context.queue.add_probe(ref)
                raise
            context.refused(snapshot, error, same_shape=True)
            return
        except NotLeading:
            raise
        except KubeError as error:
            context.refused(snapshot, error, same_shape=True, retry_after=_RETRY_PROBE)
            return
        context.state.shape_answered(worker.name, snapshot.demand.shape, None)
        await self._find_dependencies(snapshot)

    async def _ensure_namespace(self, namespace: str) -> None:
        worker = self._context.worker
        creates = self._context.state.settings.create_namespaces
        if not creates or worker.is_self or worker.has_namespace(namespace):
            return
        with suppress(AlreadyExists):
            await worker.client.create(NAMESPACES, {"metadata": {"name": namespace}}, field_manager=FIELD_MANAGER)
        worker.namespace_found(namespace)
