"""Workloads as people name them: KIND/NAME. Imports nothing, since every command reads its arguments with it."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["LEASE", "SYSTEM_NAMESPACE", "WorkloadName"]

SYSTEM_NAMESPACE: Final = "jobrelay-system"
"""The default namespace of the relay's Lease and the workers' Secrets."""
LEASE: Final = "jobrelay"
"""The default name of the relay's Lease."""


class WorkloadName(NamedTuple):
    """A workload by kind and name; the kind is looked up when the management cluster is known."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"

    @classmethod
    def parse(cls, text: str) -> WorkloadName:
        """KIND/NAME, or the name of a Job alone; raises ValueError if the name is missing."""
        kind, _, name = text.rpartition("/")
        if not name:
            raise ValueError("the name is missing; write KIND/NAME.")
        return cls(kind or "job", name)
