"""The settings of admission that Kueue keeps in its manager's configuration file."""

from __future__ import annotations

from typing import Literal

import msgspec

FairStrategy = Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"]


class FairSharing(msgspec.Struct, frozen=True):
    """`fairSharing`: queues of a cohort share what is borrowed by weight."""

    strategies: tuple[FairStrategy, ...] = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")


class WaitForPodsReady(msgspec.Struct, frozen=True):
    """`waitForPodsReady`: how long pods may take to be ready, and what happens otherwise."""

    timeout: float = 1800.0
    recovery_timeout: float | None = None
    """None: as long as `timeout`."""
    block_admission: bool = False
    """Admit nothing while an admitted workload has pods that are not ready."""
    timestamp: Literal["Eviction", "Creation"] = "Eviction"
    """What a workload that was not ready in time is ordered by afterwards."""
    backoff_base: float = 60.0
    backoff_max: float = 3600.0
    backoff_limit: int | None = None
    """How often it is requeued before it is deactivated; None: always."""


class Config(msgspec.Struct, frozen=True):
    """All settings that change decisions."""

    fair_sharing: FairSharing | None = None
    """None: classic preemption, and admission in order of borrowing, priority and age."""
    wait_for_pods_ready: WaitForPodsReady = WaitForPodsReady()
    ignore_undeclared_resources: bool = False
    """`resources.quotaCheckStrategy: IgnoreUndeclared`: resources that a queue does not cover need no quota."""
