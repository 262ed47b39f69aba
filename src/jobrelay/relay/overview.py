"""The relay's workers and workloads as plain values, for programs and commands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import msgspec

from jobrelay.apimachinery.times import format_time
from jobrelay.kube import Object
from jobrelay.relay.explain import WorkloadView, workload_view
from jobrelay.relay.model import Capacity, WorkerFacts
from jobrelay.relay.original_decision import Stage
from jobrelay.relay.workers import WorkerConnection
from jobrelay.relay.workload_kind import WorkloadKind, WorkloadRef
from jobrelay.workloads.names import ORIGIN

if TYPE_CHECKING:
    from jobrelay.relay.relay import Relay

_BATCH = 200


class ResourceUsage(msgspec.Struct, frozen=True):
    """How much of a resource nodes have and pods request, in the resource's base unit."""

    allocatable: float
    used: float


class WorkerView(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One worker."""

    name: str
    connected: bool
    state: str
    jobs: int
    reason: str = ""
    """Why it is not connected."""
    lost_since: str = ""
    nodes: int | None = None
    cpu: ResourceUsage | None = None
    memory: ResourceUsage | None = None
    capacity_unknown: str = ""
    pending_pods: int = 0
    stale_mirrors: int = 0
    version: str = ""
    management: bool = False
    """Whether it is the management cluster itself."""
    remarks: tuple[str, ...] = ()
    unfit: dict[str, str] = {}
    """Kinds in use that it cannot run, and why."""
    heard: str = ""
    """When it last sent anything, by the relay's clock; empty if it never has."""


def worker_views(relay: Relay) -> list[WorkerView]:
    """All registered workers, in their order."""
    return [_worker(relay, facts) for facts in relay.snapshots.workers()]


def _worker(relay: Relay, facts: WorkerFacts) -> WorkerView:
    worker = relay.registry.workers[facts.name]
    capacity = facts.capacity
    known = not capacity.unknown
    return WorkerView(
        facts.name,
        facts.connected,
        facts.state.value,
        facts.live,
        facts.reason,
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


def _left_alone(relay: Relay, worker: WorkerConnection) -> Iterator[str]:
    """Mirrors whose originals are not known: nobody can say whether they are still needed."""
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
    relay: Relay, namespace: str, kinds: Iterable[WorkloadKind]
) -> AsyncIterator[tuple[WorkloadKind, Object, WorkloadView]]:
    """The delegated workloads of these kinds, in all namespaces or in one; lets other tasks run between batches."""
    places = relay.line_places()
    for kind in kinds:
        for number, obj in enumerate(list(kind.originals)):
            if number % _BATCH == _BATCH - 1:
                await asyncio.sleep(0)
            ref = WorkloadRef(kind.name, obj.key)
            found = relay.originals.decision(ref) if namespace in ("", obj.namespace) else None
            if found is not None and found[1].stage is not Stage.NOT_OURS:
                yield kind, obj, workload_view(*found, places.get(ref))


async def workload_views(relay: Relay, namespace: str = "") -> AsyncIterator[WorkloadView]:
    """All delegated workloads, or those of one namespace."""
    async for _, _, view in delegated(relay, namespace, relay.state.kinds.values()):
        yield view
