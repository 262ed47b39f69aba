"""Which workloads are preempted for another one: the classic search, and that of fair sharing.

Both try things out on the usage in the snapshot and restore it. Both end by giving back what is not needed after all.
"""

from __future__ import annotations

from .search import PreemptionSearch

__all__ = ["PreemptionSearch"]
