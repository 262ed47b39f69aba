"""batch/v1 Jobs as the relay sees them."""

from __future__ import annotations

from jobrelay.workloads.job.adapter import JobAdapter

__all__ = ["JobAdapter"]
