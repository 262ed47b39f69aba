"""What to write to a Workload whose check the relay is the controller of: a pure function.

The assignment of the original comes first and is what counts. The Workload then names its worker as nominated, because
a worker may only be named as the one that admitted it if it was nominated before; then the check becomes ready. A run
that cannot go on where it is has its check retried: Kueue evicts it, and reserves quota for it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from jobrelay.relay.admission import Admitted
from jobrelay.relay.model import State
from jobrelay.relay.multikueue.dispatching import DEFAULT_DISPATCHING, Dispatching, nominated
from jobrelay.relay.multikueue.views import PENDING, READY, REJECTED, RETRY, MultiKueueCheckState, QueuedWorkload
from jobrelay.relay.snapshot import WorkloadSnapshot
from jobrelay.workloads.names import MULTIKUEUE


@dataclass(frozen=True, slots=True)
class CheckUpdate:
    """A new state of the check."""

    state: str
    message: str
    cluster: str = ""
    """The worker that has admitted it, if the check becomes ready."""


@dataclass(frozen=True, slots=True)
class Nominate:
    """The workers that are asked, as the Workload shows them."""

    clusters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClearCluster:
    """Remove the names of workers from a Workload that has no quota any more."""


WorkloadUpdate = CheckUpdate | Nominate | ClearCluster | None


@dataclass(frozen=True, slots=True)
class Remotes:
    """What is known of the clones of a Workload, by worker; `gone` are those that were found missing."""

    clones: Mapping[str, QueuedWorkload] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()
    wished: str = ""
    """The worker that placement prefers, and that has to be asked."""


NO_REMOTES: Final = Remotes()


def reconcile_workload(
    workload: QueuedWorkload,
    own: MultiKueueCheckState,
    snapshot: WorkloadSnapshot,
    remotes: Remotes = NO_REMOTES,
    config: tuple[str, ...] = (),
    how: Dispatching = DEFAULT_DISPATCHING,
) -> WorkloadUpdate:
    """The next write to the Workload of an original."""
    if workload.finished or snapshot.workload.end is not None:
        return None
    if own.state == PENDING and not snapshot.delegated:
        return _rejected(own, _not_delegated(snapshot))
    if not workload.reserved:
        return ClearCluster() if workload.cluster or workload.nominated else None
    if own.state in (REJECTED, RETRY) or workload.evicted:
        return None
    if own.state == PENDING and workload.cluster:
        return ClearCluster()  # it is the worker of an earlier reservation
    if not snapshot.delegated:
        return _rejected(own, _not_delegated(snapshot))
    to = snapshot.assignment
    if to is None or snapshot.taken_back or to.admission != workload.id:
        return _lost_by_name(workload, own, snapshot) or _dispatched(workload, own, snapshot, remotes, config, how)
    if own.state == READY:
        return _going_on(own, snapshot) or _remote_trouble(workload, own, remotes)
    if own.state != PENDING or not isinstance(snapshot.admission, Admitted):
        return None
    if to.cluster not in workload.nominated:
        return Nominate((to.cluster,))
    return CheckUpdate(READY, f'The workload was admitted on "{to.cluster}"', to.cluster)


def _dispatched(
    workload: QueuedWorkload,
    own: MultiKueueCheckState,
    snapshot: WorkloadSnapshot,
    remotes: Remotes,
    config: tuple[str, ...],
    how: Dispatching,
) -> Nominate | None:
    """Ask workers to admit it."""
    if own.state != PENDING or not isinstance(snapshot.admission, Admitted) or snapshot.admission.chosen:
        return None
    names = nominated(how, workload, snapshot, config, remotes.wished)
    return Nominate(names) if names != workload.nominated else None


def _remote_trouble(workload: QueuedWorkload, own: MultiKueueCheckState, remotes: Remotes) -> CheckUpdate | None:
    """A clone that does not let it run any more."""
    name, clone = workload.cluster, remotes.clones.get(workload.cluster)
    if name in remotes.gone:
        return CheckUpdate(RETRY, f'Admitting remote no longer exists, Previously: "{own.state}"')
    if clone is None or workload.evicted:
        return None
    if clone.finished and clone.conditions["Finished"].reason == "OutOfSync":
        why = f'Remote workload on worker cluster "{name}" is out of sync with its user job'
        return CheckUpdate(RETRY, f"{why}, resetting for re-dispatch")
    if clone.evicted and not clone.finished:
        why = f'Workload evicted on worker cluster: "{name}", resetting for re-admission.'
        return CheckUpdate(RETRY, f'{why} Previously: "{own.state}"')
    return None


def no_adapter(own: MultiKueueCheckState, kind: str) -> CheckUpdate:
    """The relay does not know the kind of the object that a Workload queues, or the Workload queues none."""
    return _rejected(own, "No multikueue adapter found" + (f' for owner kind "{kind}"' if kind else ""))


def _rejected(own: MultiKueueCheckState, why: str) -> CheckUpdate:
    return CheckUpdate(REJECTED, f'{why}, Previously: "{own.state}"')


def _not_delegated(snapshot: WorkloadSnapshot) -> str:
    path, found = snapshot.adapter.managed_by_path, snapshot.workload.managed_by or ""
    return f'The owner is not managed by Kueue: Expecting {path} to be "{MULTIKUEUE}" not "{found}"'


def _going_on(own: MultiKueueCheckState, snapshot: WorkloadSnapshot) -> CheckUpdate | None:
    """Whether a run has to be ended, because its worker is lost or is being emptied."""
    to = snapshot.assignment
    assert to is not None
    if snapshot.lets_go(to.run):
        return CheckUpdate(RETRY, f'Admitting remote lost, Previously: "{own.state}"')
    worker = snapshot.worker_of(to.run)
    if worker is not None and worker.state in (State.DRAINING, State.LOST):
        return CheckUpdate(RETRY, f'Worker cluster "{to.cluster}" is {worker.state}, Previously: "{own.state}"')
    return None


def _lost_by_name(
    workload: QueuedWorkload, own: MultiKueueCheckState, snapshot: WorkloadSnapshot
) -> CheckUpdate | None:
    """A ready check without a run of ours names a worker that may not exist any more."""
    if own.state != READY or not workload.cluster or workload.cluster in snapshot.workers:
        return None
    return CheckUpdate(RETRY, f'Admitting remote no longer exists, Previously: "{own.state}"')
