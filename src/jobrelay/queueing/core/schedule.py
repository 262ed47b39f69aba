"""One cycle of admission: a pure function of what is used, who waits and the time."""

from __future__ import annotations

from collections.abc import Sequence

from .config import Config
from .decisions import Decisions, Head
from .snapshot import Snapshot


def schedule(
    snapshot: Snapshot, heads: Sequence[Head], now: float, config: Config | None = None, cycle: int = 0
) -> Decisions:
    """Decide about the heads of all queues, at most one for each queue.

    The snapshot is used to try things out, and is the same afterwards. `cycle` is the number of this cycle, which tells
    whether the progress of a head's search is that of the cycle before.
    """
    raise NotImplementedError
