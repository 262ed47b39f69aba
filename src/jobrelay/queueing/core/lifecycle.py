"""What happens to workloads with time, and when their queues are stopped: evictions, back-offs, deactivation.

Each function says what is to be done with one workload now, or when to look again.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from .config import WaitForPodsReady
from .model import StopPolicy

EvictionReason = Literal[
    "Preempted", "PodsReadyTimeout", "AdmissionCheck", "ClusterQueueStopped", "LocalQueueStopped", "Deactivated"
]


class Eviction(msgspec.Struct, frozen=True):
    """A workload loses its quota: reason and message of its condition Evicted."""

    reason: EvictionReason
    message: str


class Inadmissible(msgspec.Struct, frozen=True):
    """A workload gets no quota whatever is free: the message of its condition QuotaReserved, reason Inadmissible."""

    message: str


Stop = Eviction | Inadmissible | None


class Deactivation(msgspec.Struct, frozen=True):
    """A workload is to be deactivated: reason and message of its condition DeactivationTarget."""

    reason: Literal["RequeuingLimitExceeded", "MaximumExecutionTimeExceeded", "AdmissionCheck"]
    message: str

    @property
    def eviction(self) -> tuple[str, str]:
        """Reason and message of the eviction that follows."""
        return f"DeactivatedDueTo{self.reason}", f"The workload is deactivated due to {self.message}"


class RequeueState(msgspec.Struct, frozen=True):
    """`status.requeueState` of a workload that is requeued after a time."""

    count: int
    requeue_at: float


def order_timestamp(
    created: float, evicted_at: float | None, reason: str, config: WaitForPodsReady | None = None
) -> float:
    """What orders a workload among those of its priority: its creation, or an eviction that sends it to the back.

    `reason` is that of its condition Evicted, while it is True.
    """
    if evicted_at is None:
        return created
    if reason == "AdmissionCheck":
        return evicted_at
    by_eviction = (config or WaitForPodsReady()).timestamp == "Eviction"
    return evicted_at if reason == "PodsReadyTimeout" and by_eviction else created


def requeue_after_timeout(count: int, now: float, config: WaitForPodsReady) -> RequeueState | Deactivation:
    """After pods were not ready in time: the wait doubles with each time, until the limit deactivates the workload."""
    if config.backoff_limit is not None and count + 1 > config.backoff_limit:
        return Deactivation("RequeuingLimitExceeded", "exceeding the maximum number of re-queuing retries")
    wait = min(config.backoff_base * 2.0 ** min(count, 62), config.backoff_max or float("inf"))
    return RequeueState(count + 1, now + wait)


def pods_ready_deadline(admitted_at: float, lost_at: float | None, config: WaitForPodsReady) -> float:
    """When pods have to be ready; `lost_at`: since when they are not ready any more after they were."""
    if lost_at is None:
        return admitted_at + config.timeout
    recovery = config.timeout if config.recovery_timeout is None else config.recovery_timeout
    return lost_at + recovery


def pods_ready_eviction(key: str, deadline: float, now: float) -> Eviction | None:
    """The eviction of a workload whose pods were not ready in time."""
    if now < deadline:
        return None
    return Eviction("PodsReadyTimeout", f"Exceeded the PodsReady timeout {key}")


def execution_deadline(maximum: int | None, past: int, admitted_at: float) -> float | None:
    """When a workload has run for as long as it may, runs before evictions included."""
    return None if maximum is None else admitted_at + max(0, maximum - past)


def execution_timeout(deadline: float | None, now: float) -> Deactivation | None:
    """The deactivation of a workload that has run for too long."""
    if deadline is None or now < deadline:
        return None
    return Deactivation("MaximumExecutionTimeExceeded", "exceeding the maximum execution time")


def stopped(kind: Literal["ClusterQueue", "LocalQueue"], name: str, policy: StopPolicy, *, admitted: bool) -> Stop:
    """What the stop policy of one of its queues does to a workload.

    Who runs is evicted by HoldAndDrain only; who does not run yet gives back what it has reserved, or gets nothing.
    """
    if policy == "None" or (admitted and policy == "Hold"):
        return None
    if admitted:
        reason: EvictionReason = "ClusterQueueStopped" if kind == "ClusterQueue" else "LocalQueueStopped"
        return Eviction(reason, f"The {kind} is stopped")
    return Inadmissible(f"{kind} {name} is stopped")
