"""What a cycle of admission decides, and why.

Each decision carries its `Assignment`: the flavors that were tried, with the arithmetic of every quota that was looked
at. Texts are made of it when somebody reads them (`message`, `considered`), since most decisions are never read.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Literal

import msgspec

from .amounts import format_amount
from .model import Admission, AdmittedWorkload, FlavorResource, WorkloadInfo


class Mode(enum.IntEnum):
    """How well a workload fits into a quota, from the worst to the best."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    """It would fit if workloads were preempted, but there are not enough that it may preempt."""
    PREEMPT = 2
    """It fits after preempting workloads, of its own queue too."""
    RECLAIM = 3
    """It fits after preempting workloads of other queues only."""
    FIT = 4

    @property
    def preempts(self) -> bool:
        return Mode.NO_FIT < self < Mode.FIT


_MODE_TEXTS = {
    Mode.NO_FIT: "NoFit",
    Mode.NO_CANDIDATES: "preemptionMode=NoCandidates",
    Mode.PREEMPT: "preemptionMode=Preempt",
    Mode.RECLAIM: "preemptionMode=Reclaim",
    Mode.FIT: "Fit",
}


class QuotaCheck(msgspec.Struct, frozen=True):
    """The arithmetic of one resource in one flavor."""

    flavor: str
    resource: str
    assumed: int
    """What earlier pod sets of the workload take of it."""
    requested: int
    available: int
    """What the queue can use of it now, borrowing included."""
    capacity: int
    """What the queue could use of it if nobody else used anything."""
    mode: Mode
    borrowing: int
    """How far up the tree quota has to come from: 0 is the queue's own, 1 that of its cohort, and so on."""

    @property
    def reason(self) -> str:
        """Why it does not fit, in Kueue's words; empty if it does."""
        if self.mode == Mode.FIT:
            return ""
        name = self.resource
        if self.assumed + self.requested > self.capacity:
            return (
                f"insufficient quota for {name} in flavor {self.flavor}, previously considered podsets requests "
                f"({format_amount(name, self.assumed)}) + current podset request "
                f"({format_amount(name, self.requested)}) > maximum capacity ({format_amount(name, self.capacity)})"
            )
        missing = format_amount(name, self.assumed + self.requested - self.available)
        return f"insufficient unused quota for {name} in flavor {self.flavor}, {missing} more needed"


class FlavorAttempt(msgspec.Struct, frozen=True):
    """One flavor that was tried for a pod set."""

    flavor: str
    mode: Mode
    borrowing: int = 0
    checks: tuple[QuotaCheck, ...] = ()
    mismatch: str = ""
    """Why the flavor is not for these pods at all."""

    @property
    def reasons(self) -> list[str]:
        if self.mismatch:
            return [self.mismatch]
        return sorted({check.reason for check in self.checks if check.mode != Mode.FIT})

    def __str__(self) -> str:
        level = f";borrow={self.borrowing}" if self.borrowing else ""
        return f"{self.flavor}({_MODE_TEXTS[self.mode]}{level}{''.join(f';{each}' for each in self.reasons)})"


class PodSetDecision(msgspec.Struct, frozen=True):
    """The flavors that were found for one pod set."""

    name: str
    count: int
    flavors: Mapping[str, str]
    """By resource; empty if none was found."""
    modes: Mapping[str, Mode]
    requests: Mapping[str, int]
    """For all its pods."""
    attempts: tuple[FlavorAttempt, ...] = ()
    blamed: tuple[FlavorAttempt, ...] = ()
    """The attempts that say why it does not fit."""
    missing: str = ""
    """A resource that the queue does not cover."""
    fits: bool = True

    @property
    def mode(self) -> Mode:
        if self.fits:
            return Mode.FIT
        return min(self.modes.values(), default=Mode.NO_FIT) if self.flavors else Mode.NO_FIT

    @property
    def reasons(self) -> list[str]:
        if self.missing:
            return [f"resource {self.missing} unavailable in ClusterQueue"]
        found = []
        for attempt in self.blamed:
            found += [attempt.mismatch] if attempt.mismatch else []
            found += [check.reason for check in attempt.checks if check.mode != Mode.FIT]
        return sorted(found)


class Progress(msgspec.Struct, frozen=True):
    """How far the search for flavors got, so that the next cycle continues from there."""

    tried: tuple[Mapping[str, int], ...]
    """By pod set and resource: the index of the last flavor that was tried, -1 for the end of the list."""
    generation: int
    cycle: int
    shape: str

    @property
    def unfinished(self) -> bool:
        """Whether there are flavors left to try."""
        return any(index != -1 for each in self.tried for index in each.values())


class Assignment(msgspec.Struct, frozen=True):
    """The flavors of a whole workload, how well it fits, and what it takes of each quota."""

    pod_sets: tuple[PodSetDecision, ...]
    usage: Mapping[FlavorResource, int]
    borrowing: int
    mode: Mode
    progress: Progress | None = None

    @property
    def message(self) -> str:
        """Why it does not fit, in Kueue's words; empty if it does."""
        return "; ".join(
            f"couldn't assign flavors to pod set {each.name}: {', '.join(each.reasons)}"
            for each in self.pod_sets
            if not each.fits
        )

    @property
    def considered(self) -> str:
        """The flavors that were tried, as listed in the event QuotaReserved; plain fits are left out."""
        texts = []
        for each in self.pod_sets:
            told = sorted((one for one in each.attempts if one.mode != Mode.FIT or one.borrowing), key=_by_flavor)
            if told:
                texts.append(f"{each.name}: {', '.join(map(str, told))}")
        return " | ".join(texts)


def _by_flavor(attempt: FlavorAttempt) -> str:
    return attempt.flavor


PreemptionReason = Literal[
    "InClusterQueue", "InCohortReclamation", "InCohortFairSharing", "InCohortReclaimWhileBorrowing"
]


class Target(msgspec.Struct, frozen=True):
    """A workload to preempt, and the rule that allows it."""

    workload: AdmittedWorkload
    reason: PreemptionReason


RequeueReason = Literal[
    "", "NoFit", "PreemptionNoCandidates", "PendingPreemption", "FailedAfterNomination", "NamespaceMismatch"
]
"""Why a workload goes back to its queue; it decides whether it is tried again at once (`PendingQueues`)."""


class Head(msgspec.Struct, frozen=True):
    """A workload that is to be decided on, with the progress of its last attempt."""

    workload: WorkloadInfo
    progress: Progress | None = None


class Reservation(msgspec.Struct, frozen=True):
    """The workload gets quota; with `checks`, it is admitted only once they are ready."""

    workload: WorkloadInfo
    admission: Admission
    checks: tuple[str, ...]
    assignment: Assignment

    @property
    def message(self) -> str:
        """The message of condition QuotaReserved."""
        return f"Quota reserved in ClusterQueue {self.admission.cluster_queue}"


class Preemption(msgspec.Struct, frozen=True):
    """A workload is to be evicted for another one."""

    target: AdmittedWorkload
    preemptor: WorkloadInfo
    reason: PreemptionReason
    preemptor_path: str
    target_path: str

    @property
    def message(self) -> str:
        """The message of conditions Evicted and Preempted."""
        return (
            f"Preempted to accommodate a workload (UID: {self.preemptor.uid or 'UNKNOWN'}, JobUID: "
            f"{self.preemptor.job_uid or 'UNKNOWN'}) due to {_REASON_TEXTS[self.reason]}; "
            f"preemptor path: {self.preemptor_path}; preemptee path: {self.target_path}"
        )


_REASON_TEXTS: dict[PreemptionReason, str] = {
    "InClusterQueue": "prioritization in the ClusterQueue",
    "InCohortReclamation": "reclamation within the cohort",
    "InCohortFairSharing": "Fair Sharing within the cohort",
    "InCohortReclaimWhileBorrowing": "reclamation within the cohort while borrowing",
}


class Requeue(msgspec.Struct, frozen=True):
    """The workload gets no quota in this cycle."""

    workload: WorkloadInfo
    reason: RequeueReason
    condition_reason: Literal["Pending", "Waiting"] = "Pending"
    """The reason of condition QuotaReserved."""
    text: str = ""
    """Why, if that is not the assignment's message."""
    assignment: Assignment | None = None
    preempting: int = 0
    """For how many workloads that it preempts it waits."""
    progress: Progress | None = None

    @property
    def message(self) -> str:
        """The message of condition QuotaReserved."""
        text = self.text or (self.assignment.message if self.assignment else "")
        return f"{text}. Pending the preemption of {self.preempting} workload(s)" if self.preempting else text


class Decisions(msgspec.Struct, frozen=True):
    """What one cycle decides about all heads; each head is in exactly one of `reservations` and `requeues`."""

    reservations: tuple[Reservation, ...] = ()
    preemptions: tuple[Preemption, ...] = ()
    requeues: tuple[Requeue, ...] = ()
