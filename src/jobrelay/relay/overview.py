"""The relay's workers and workloads at a glance, as plain values for programs and commands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from fractions import Fraction
from typing import TYPE_CHECKING

import msgspec

from jobrelay.apimachinery.times import format_time
from jobrelay.relay.decide import Stage
from jobrelay.relay.explain import WorkloadView, workload_view
from jobrelay.relay.model import Capacity, WorkerFacts
from jobrelay.relay.originals import Task

if TYPE_CHECKING:
    from jobrelay.relay.relay import Relay

__all__ = ["Room", "WorkerView", "worker_views", "workload_views"]

_BREATH = 200


class Room(msgspec.Struct, frozen=True):
    """How much there is of a resource, and how much of it pods have asked for, in the resource's base unit."""

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
    cpu: Room | None = None
    memory: Room | None = None
    capacity_unknown: str = ""
    pending_pods: int = 0
    stale_mirrors: int = 0
    version: str = ""
    management: bool = False
    """Whether it is the management cluster itself."""
    remarks: tuple[str, ...] = ()


def worker_views(relay: Relay) -> list[WorkerView]:
    """All registered workers, in their order."""
    return [_worker(relay, facts) for facts in relay.knowledge.workers()]


def _worker(relay: Relay, facts: WorkerFacts) -> WorkerView:
    link = relay.registry.links[facts.name]
    room = facts.capacity
    known = not room.unknown
    return WorkerView(
        facts.name,
        facts.connected,
        facts.state.value,
        facts.live,
        facts.reason,
        format_time(facts.lost_since) if facts.lost_since is not None else "",
        len(room.nodes) if known else None,
        _room(room, "cpu") if known else None,
        _room(room, "memory") if known else None,
        room.unknown,
        facts.pending,
        facts.stale,
        link.version.git_version if link.version is not None else "",
        link.is_self,
        link.spec.remarks,
    )


def _room(capacity: Capacity, resource: str) -> Room:
    nodes = [node for node in capacity.nodes if node.schedulable]
    has = sum((node.allocatable.get(resource, Fraction()) for node in nodes), Fraction())
    used = sum((node.used.get(resource, Fraction()) for node in nodes), Fraction())
    return Room(float(has), float(used))


async def workload_views(relay: Relay, namespace: str = "") -> AsyncIterator[WorkloadView]:
    """All delegated workloads, or those of one namespace; gives way to others now and then."""
    for name, kind in relay.knowledge.kinds.items():
        for number, obj in enumerate(list(kind.originals)):
            if number % _BREATH == _BREATH - 1:
                await asyncio.sleep(0)
            found = relay.originals.decision(Task(name, obj.key)) if namespace in ("", obj.namespace) else None
            if found is None or found[1].stage is Stage.NOT_OURS:
                continue
            yield workload_view(*found)
