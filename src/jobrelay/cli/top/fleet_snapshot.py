"""A snapshot of a fleet, and what is shown of it: filters, orders, counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from jobrelay.relay.worker_view import WorkerView

__all__ = [
    "ORDERS", "WORKER_COLUMNS", "FleetSnapshot", "Row", "TopSource", "matching", "ordered", "summary",
    "workload_columns",
]  # fmt: skip

Row: TypeAlias = Mapping[str, Any]

WORKER_COLUMNS: Final = ("name", "state", "jobs", "nodes", "cpu", "memory", "reason")
_WORKLOAD_COLUMNS: Final = ("kind", "name", "status", "cluster", "run", "age", "why")
ORDERS: Final = ("status", "name", "kind", "cluster")
"""The columns that workloads can be sorted by; the first at the beginning."""
_STATUSES: Final = ("Waiting", "Suspended", "Running", "Terminating", "Failed", "Complete")
"""What needs attention comes first."""


@dataclass(frozen=True, slots=True)
class FleetSnapshot:
    """The workers, the workloads as rows of a table, and why the relay could not be asked."""

    workers: Sequence[WorkerView]
    workloads: Sequence[Row]
    problem: str = ""


class TopSource(Protocol):
    """Where the screen has its data from."""

    async def snapshot(self) -> FleetSnapshot:
        """A new snapshot; raises KubeError and RelayError."""
        ...

    async def explain(self, row: Row) -> list[str]:
        """The lines of `jobrelay explain`; raises KubeError and RelayError."""
        ...

    def logs(self, row: Row) -> AsyncGenerator[str, None]:
        """The lines of a workload's pods, until it ends; raises KubeError and RelayError."""
        ...


def workload_columns(everywhere: bool) -> tuple[str, ...]:
    """The columns of workloads, of one namespace or of all."""
    return ("namespace", *_WORKLOAD_COLUMNS) if everywhere else _WORKLOAD_COLUMNS


def matching(rows: Iterable[Row], words: str) -> list[Row]:
    """The rows in which every word is found, in any cell and whatever its case."""
    wanted = words.lower().split()
    return [row for row in rows if all(word in _text(row) for word in wanted)]


def _text(row: Row) -> str:
    return " ".join(str(value) for value in row.values() if value is not None).lower()


def ordered(rows: Iterable[Row], column: str, *, reverse: bool = False) -> list[Row]:
    """Rows by a column, then by their names."""
    return sorted(rows, key=lambda row: (_rank(row, column), row["namespace"], row["name"]), reverse=reverse)


def _rank(row: Row, column: str) -> tuple[int, str]:
    value = row[column]
    if column == "status" and value in _STATUSES:
        return _STATUSES.index(value), ""
    return 0, "" if value is None else str(value)


def summary(snapshot: FleetSnapshot) -> str:
    """`2 of 3 workers connected · 4 workloads: 3 running, 1 waiting`."""
    connected = sum(each.connected for each in snapshot.workers)
    counts = Counter(str(row["status"]).lower() for row in snapshot.workloads)
    parts = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    number = counts.total()
    workloads = f"{number} workload{'s' * (number != 1)}{': ' if parts else ''}{parts}"
    return f"{connected} of {len(snapshot.workers)} workers connected · {workloads}"
