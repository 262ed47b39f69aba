"""Proves that a run is gone from a worker, by consistent reads.

That no mirror is in the cache proves nothing: the cache may be behind, and a creation may be under way. So the mirror
is read by its name, and its pods by their label, after every creation that was sent for the run has been answered or
can no longer take effect. A mirror may have been deleted by somebody else, even without its pods (`Orphan`), so pods
have to have ended as well. The cluster is identified before and after: if the name of the worker was pointed at another
one meanwhile, the reads prove nothing.
"""

from __future__ import annotations

import msgspec

from jobrelay.kube import Forbidden, NotFound, Object, Resource
from jobrelay.kube.resource import CUSTOMRESOURCEDEFINITIONS, PODS
from jobrelay.relay.runs import KnownRun
from jobrelay.relay.snapshot import WorkloadSnapshot
from jobrelay.relay.worker_assignment import Run
from jobrelay.relay.workers import WorkerConnection
from jobrelay.relay.workload_kind import is_built_in, origin_uid
from jobrelay.workloads.names import ORIGIN

_ENDED = ("Succeeded", "Failed")
_SHOWN = 3
_LOOK_AGAIN = 2.0
_ASK_AGAIN = 30.0


class _PodStatus(msgspec.Struct):
    phase: str = ""


class _Pod(msgspec.Struct):
    status: _PodStatus = msgspec.field(default_factory=_PodStatus)


class NotProvenGone(Exception):
    """A run may still exist: why, and in how many seconds to look again. `mirror` is its mirror, if that was found."""

    def __init__(self, why: str, again: float, mirror: Object | None = None) -> None:
        super().__init__(why)
        self.again, self.mirror = again, mirror


def settles_in(known: KnownRun, leading_since: float, connected_since: float, settle: float, now: float) -> float:
    """In how many seconds no creation that was sent for a run can take effect any more.

    An API server carries out what it has received within its time limit, but it may have stood still for any time
    before. So the time begins when the worker last began to answer. What an earlier leader sent is not known to this
    process; it was sent before this one began to lead.
    """
    sent = [] if known.unsettled_at is None else [known.unsettled_at]
    if not known.committed_here:
        sent.append(leading_since)
    return max(*sent, connected_since) + settle - now if sent else 0.0


async def check_gone(worker: WorkerConnection, snapshot: WorkloadSnapshot, run: Run, name: str, waited: float) -> None:
    """Raise NotProvenGone unless a run, as any other of its workload, is gone from its worker with its pods.

    `name` is the mirror's name, `waited` for how many seconds it has been found absent before.
    """
    resource, original = snapshot.adapter.resource, snapshot.original
    await worker.check_identity(run.uid)
    try:
        found = await worker.client.get(resource, name, original.namespace)
    except NotFound as error:
        if not is_built_in(resource) and (error.status.details is None or error.status.details.name != name):
            await _check_undefined(worker, resource)
        found = None
    if found is not None and (
        found.metadata.labels.get(ORIGIN) == snapshot.settings.origin or origin_uid(found) == original.uid
    ):
        raise NotProvenGone(f"what may be its mirror is still on {worker.name}", _LOOK_AGAIN, found)
    await _check_pods(worker, snapshot, name, found.uid if found is not None else "", waited)
    await worker.check_identity(run.uid)


async def _check_undefined(worker: WorkerConnection, resource: Resource) -> None:
    """The kind is not served, and what it has cannot be seen: only without a definition there is nothing."""
    again = f"serve {resource}/{resource.version} there again, or declare it lost"
    try:
        await worker.client.get(CUSTOMRESOURCEDEFINITIONS, str(resource))
    except NotFound:
        return
    except Forbidden:
        why = f"{worker.name} does not serve it, and what may run there is not seen; {again}"
        raise NotProvenGone(why, _ASK_AGAIN) from None
    raise NotProvenGone(f"{worker.name} does not serve it at present, but has its definition; {again}", _LOOK_AGAIN)


async def _check_pods(
    worker: WorkerConnection, snapshot: WorkloadSnapshot, name: str, present: str, waited: float
) -> None:
    """Raise NotProvenGone if pods of an earlier mirror of this name run; `present` is the uid of what has it now."""
    adapter, grace = snapshot.adapter, snapshot.demand.grace + snapshot.settings.margin
    selector = adapter.pod_selector(name, snapshot.original)
    if not selector:
        return
    try:
        pods = (await worker.client.list(PODS, snapshot.original.namespace, label_selector=selector)).items
    except Forbidden:
        if waited < grace:
            why = f"the relay may not list pods on {worker.name}, and gives them {grace:g} s to end"
            raise NotProvenGone(why, grace - waited) from None
        return
    alive = [
        pod.name
        for pod in pods
        if pod.decode(_Pod).status.phase not in _ENDED and not (present and adapter.pod_owner(pod) == present)
    ]
    if alive:
        more = ", ..." if len(alive) > _SHOWN else ""
        names = ", ".join(alive[:_SHOWN])
        raise NotProvenGone(
            f"its mirror on {worker.name} was deleted, but its pods still run ({names}{more})", _LOOK_AGAIN
        )
