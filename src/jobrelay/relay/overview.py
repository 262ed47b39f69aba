"""The relay's workers and workloads as plain values, for programs and commands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Container, Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import KubeError, Object
from jobrelay.relay.explain import DelegatedWorkload, workload_view
from jobrelay.relay.mirror_pods.inspector import MOST, InspectedMirror
from jobrelay.relay.model import Capacity, WorkerFacts
from jobrelay.relay.original_decision import OriginalDecision, Stage
from jobrelay.relay.run_history import run_history
from jobrelay.relay.snapshot import WorkloadSnapshot
from jobrelay.relay.worker_assignment import assignment_of
from jobrelay.relay.worker_view import ResourceUsage, WorkerView
from jobrelay.relay.workers import WorkerConnection
from jobrelay.relay.workload_kind import WorkloadKind, WorkloadRef
from jobrelay.workloads.names import ORIGIN

if TYPE_CHECKING:
    from jobrelay.relay.relay import RelayManager

_BATCH = 200


def worker_views(relay: RelayManager) -> list[WorkerView]:
    """All registered workers, in their order."""
    return [_worker(relay, facts) for facts in relay.snapshots.workers()]


def _worker(relay: RelayManager, facts: WorkerFacts) -> WorkerView:
    worker = relay.registry.workers[facts.name]
    capacity = facts.capacity
    known = not capacity.unknown
    return WorkerView(
        facts.name,
        facts.connected and not facts.unanswered,
        facts.state.value,
        facts.live,
        _why_unreachable(facts),
        format_time(facts.lost_since) if facts.lost_since is not None else "",
        len(capacity.nodes) if known else None,
        _usage(capacity, "cpu") if known else None,
        _usage(capacity, "memory") if known else None,
        capacity.unknown,
        facts.pending,
        facts.stale,
        worker.version.git_version if worker.version is not None else "",
        worker.is_self,
        (*worker.spec.remarks, *_left_alone(relay, worker)),
        dict(facts.unfit),
        format_time(heard) if (heard := worker.heard) is not None else "",
    )


def _why_unreachable(facts: WorkerFacts) -> str:
    """Why nothing can be done there now; empty if it answers."""
    silent = facts.connected and facts.unanswered
    return f"it has not answered for {facts.unanswered:.0f} s" if silent else facts.reason


def _left_alone(relay: RelayManager, worker: WorkerConnection) -> Iterator[str]:
    """Mirrors whose originals are not known: it is not known whether they are still needed."""
    for kind in relay.state.kinds.values():
        resource = kind.adapter.resource
        count = 0 if kind.known else len(worker.mirrors[resource])
        if count:
            mend = (
                f"let the relay read {resource} there, or delete them by label {ORIGIN}={relay.state.settings.origin}"
            )
            yield (
                f"{count} mirrors of {resource} are left alone, since it is not known whether they have originals "
                f"({relay.kinds.problem(kind) or 'they are being read'}): {mend}"
            )


def _usage(capacity: Capacity, resource: str) -> ResourceUsage:
    nodes = [node for node in capacity.nodes if node.schedulable]
    allocatable = sum((node.allocatable.get(resource, Fraction()) for node in nodes), Fraction())
    used = sum((node.used.get(resource, Fraction()) for node in nodes), Fraction())
    return ResourceUsage(float(allocatable), float(used))


async def delegated(
    relay: RelayManager, namespace: str, kinds: Iterable[WorkloadKind]
) -> AsyncIterator[tuple[WorkloadKind, Object, DelegatedWorkload]]:
    """The delegated workloads of these kinds, in all namespaces or in one; lets other tasks run between batches.

    The pods of the first ones that seem to have a problem are inspected.
    """
    places = relay.line_places()
    left = MOST
    for kind in kinds:
        chosen = [obj for obj in kind.originals if namespace in ("", obj.namespace)]
        for start in range(0, len(chosen), _BATCH):
            await asyncio.sleep(0)
            decided = [
                (obj, found)
                for obj in chosen[start : start + _BATCH]
                if (found := relay.originals.decision(WorkloadRef(kind.name, obj.key))) is not None
                and found[1].stage is not Stage.NOT_OURS
            ]
            wanted = [_inspected(snapshot) for _, (snapshot, _) in decided if snapshot.pods.unclear][:left]
            if wanted:
                left -= len(wanted)
                await relay.inspector.inspect(wanted)
                seen = {each.mirror.uid for each in wanted}
                decided = [(obj, _decided_again(relay, kind, found, seen)) for obj, found in decided]
            for obj, found in decided:
                yield kind, obj, workload_view(*found, places.get(WorkloadRef(kind.name, obj.key)))


def _inspected(snapshot: WorkloadSnapshot) -> InspectedMirror:
    assert snapshot.mirror is not None
    return InspectedMirror(snapshot.mirror.worker, snapshot.adapter, snapshot.mirror.obj)


def _decided_again(
    relay: RelayManager, kind: WorkloadKind, found: tuple[WorkloadSnapshot, OriginalDecision], seen: Container[str]
) -> tuple[WorkloadSnapshot, OriginalDecision]:
    """The decision about a workload whose pods were inspected meanwhile, or the one before if they were not."""
    mirror, key = found[0].mirror, found[0].original.key
    if mirror is None or mirror.obj.uid not in seen:
        return found
    return relay.originals.decision(WorkloadRef(kind.name, key)) or found


async def workload_views(relay: RelayManager, namespace: str = "") -> AsyncIterator[DelegatedWorkload]:
    """All delegated workloads, or those of one namespace."""
    async for _, _, view in delegated(relay, namespace, relay.state.kinds.values()):
        yield view


async def on_worker_of(relay: RelayManager, ref: WorkloadRef) -> dict[str, Any]:
    """The runs of one workload, and its pods by phase as an inspection finds them, or why they are not known."""
    original = relay.state.kinds[ref.kind].originals.get(ref.key)
    runs = run_history(assignment_of(original)) if original is not None else []
    found = {"runs": runs} if runs else {}
    try:
        inspection = await relay.inspect_pods(ref)
    except TimeoutError:
        return {**found, "podsUnknown": "its worker did not answer in time"}
    except KubeError as error:
        return {**found, "podsUnknown": f"its worker cannot be read: {error}"}
    return {**found, "pods": dict(inspection.phases)} if inspection is not None else found
