"""The seam for queues and their quotas.

A `QueueGate` answers for each workload whether it may run; without one, everything is admitted. The relay does not know
how it decides, or what it writes. It hands a gate what it needs (`AdmissionParts`) when it is constructed; the gate
brings what has to run: caches in every replica, writers in the leader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol, TypeAlias

from jobrelay.control import Runnable
from jobrelay.kube import Cache, Client, Clock, Object, Resource
from jobrelay.kube.metrics import MetricCollector
from jobrelay.relay.admission import AdmissionAnswer
from jobrelay.workloads import Adapter


@dataclass(frozen=True, slots=True)
class AdmissionParts:
    """What a gate needs of the relay: its client, the originals of all kinds, and whether this replica may write."""

    client: Client
    originals: Mapping[Resource, tuple[Adapter, Cache]]
    namespaces: Cache
    leads: Callable[[], bool]
    clock: Clock
    random: Random
    changed: Callable[[Resource, Object], None]
    """To be called when the verdict on an original may have changed."""
    identity: str
    grace: float
    """How long running work may take to end when the relay is stopped."""


class QueueGate(Protocol):
    """Admits workloads by queues."""

    def verdict(self, adapter: Adapter, original: Object) -> AdmissionAnswer:
        """Whether a delegated original may run now."""
        ...

    def explain(self, adapter: Adapter, original: Object, changes: Sequence[str] = ()) -> Mapping[str, Any] | None:
        """What is known about its place in a queue, as JSON values; None if it is in none.

        With `changes` (`quota.cpu=+10`), as it would be after them; raises ValueError if one cannot be read.
        """
        ...

    def overview(self) -> Mapping[str, Any]:
        """All queues with what waits in them, as JSON values."""
        ...

    def watches(self) -> Sequence[Runnable]:
        """What runs in every replica."""
        ...

    def writers(self) -> Sequence[Runnable]:
        """What runs in the leader."""
        ...

    def collectors(self) -> Sequence[MetricCollector]:
        """Its metrics."""
        ...


MakeGate: TypeAlias = Callable[[AdmissionParts], QueueGate]
