"""What the relay remembers about one workload in memory only. Losing it costs a repeated request or event, never safety."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from jobrelay.relay.model import Refusal

__all__ = ["WorkloadRecord"]


class WorkloadRecord:
    """Counters and marks of one workload; others read its attributes and change them by its methods."""

    __slots__ = (
        "_refusals",
        "_reported",
        "created_epoch",
        "failures",
        "last_error",
        "mirror_changed_at",
        "rejected_status",
        "status_held_since",
        "unforwarded",
    )

    def __init__(self) -> None:
        self.status_held_since: float | None = None
        """Since when a new status is held back, in monotonic time."""
        self.mirror_changed_at: float | None = None
        """When the mirror first changed after the last status was written, in monotonic time."""
        self.created_epoch = 0
        """The last epoch that a mirror was created for."""
        self.failures = 0
        """How often in a row creating the mirror failed with an error that may be transient."""
        self.last_error = ""
        """The last error in creating or changing the mirror."""
        self.rejected_status = ""
        """The resourceVersion of the mirror whose status the API server rejected although it should be legal."""
        self.unforwarded = ""
        """The generations of original and mirror for which the worker rejected the forwarded change."""
        self._refusals: dict[str, Refusal] = {}
        self._reported: dict[str, int] = {}

    @property
    def refusals(self) -> Mapping[str, Refusal]:
        """By worker: why it did not take this workload."""
        return MappingProxyType(self._refusals)

    def refused(self, worker: str, refusal: Refusal) -> None:
        self._refusals[worker] = refusal

    def hold_status(self, now: float) -> None:
        if self.status_held_since is None:
            self.status_held_since = now

    def mirror_changed(self, now: float) -> None:
        if self.mirror_changed_at is None:
            self.mirror_changed_at = now

    def status_written(self, now: float) -> float | None:
        """Returns the seconds since the mirror changed, if that was seen."""
        lag = now - self.mirror_changed_at if self.mirror_changed_at is not None else None
        self.status_held_since = self.mirror_changed_at = None
        return lag

    def mirror_created(self, epoch: int) -> bool:
        """Returns whether this epoch had a mirror before."""
        again = self.created_epoch == epoch
        self.created_epoch, self.failures, self.last_error = epoch, 0, ""
        return again

    def creation_failed(self, error: str, tries: int) -> bool:
        """Counts a failure; True for every `tries`-th in a row."""
        self.failures, self.last_error = (self.failures + 1) % tries, error
        return self.failures == 0

    def mirror_unmarked(self, error: str) -> None:
        self.last_error = error

    def change_rejected(self, generations: str, error: str) -> None:
        self.unforwarded, self.last_error = generations, error

    def status_rejected(self, version: str) -> bool:
        """Returns whether this is the first rejection for this version of the mirror."""
        first, self.rejected_status = self.rejected_status != version, version
        return first

    def first_report(self, reason: str, epoch: int) -> bool:
        """Whether an event of this reason has not been recorded for this epoch yet; from now on it has."""
        first = self._reported.get(reason) != epoch
        self._reported[reason] = epoch
        return first
