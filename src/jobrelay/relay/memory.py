"""What the relay remembers of a workload only while it runs. Losing it costs a repetition, never a decision."""

from __future__ import annotations

from dataclasses import dataclass, field

from jobrelay.relay.model import Refusal

__all__ = ["Memories", "Memory"]


@dataclass(slots=True)
class Memory:
    """About one workload."""

    status_since: float | None = None
    """Since when, by the monotonic clock, a new status waits to be written."""
    changed_at: float | None = None
    """When, by the monotonic clock, its mirror first changed since the last status was written."""
    refusals: dict[str, Refusal] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)
    """The last note of each reason, so that nothing is told twice."""
    created: int = 0
    """The last epoch that a mirror was created for."""
    failures: int = 0
    """How often in a row its mirror could not be created for reasons that may pass."""
    trouble: str = ""
    """What the last failure said."""
    defect: str = ""
    """The version of the mirror whose status the API server refused although it should be legal."""
    unforwarded: str = ""
    """The version of the original whose changes the worker refused."""


class Memories:
    """By the original's uid."""

    def __init__(self) -> None:
        self._known: dict[str, Memory] = {}

    def of(self, uid: str) -> Memory:
        found = self._known.get(uid)
        if found is None:
            found = self._known[uid] = Memory()
        return found

    def peek(self, uid: str) -> Memory:
        """Reads without keeping anything."""
        return self._known.get(uid) or Memory()

    def forget(self, uid: str) -> None:
        self._known.pop(uid, None)
