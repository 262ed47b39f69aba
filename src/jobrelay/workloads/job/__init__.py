"""batch/v1 Jobs as the relay sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobrelay.lazy import lazy_exports

if TYPE_CHECKING:
    from jobrelay.workloads.job.adapter import JobAdapter

__all__ = ["JobAdapter"]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(
        __name__,
        adapter="JobAdapter",
    )
