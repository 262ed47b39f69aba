"""What `kubectl get` shows: column definitions, cells and row conditions of every kind."""

from __future__ import annotations

import functools

from jobrelay.kinds.tables.columns import PLAIN, TableSpec
from jobrelay.kinds.tables.custom import crd_table

__all__ = ["TableSpec", "crd_table", "table_for"]


@functools.cache
def _tables() -> dict[tuple[str, str], TableSpec]:
    from jobrelay.kinds.tables import core, events, networking, pods, policies, storage, workloads

    modules = (core, pods, events, workloads, networking, storage, policies)
    return {kind: table for module in modules for kind, table in module.TABLES.items()}


def table_for(group: str, plural: str) -> TableSpec:
    """The table of a built-in kind, such as ("batch", "jobs"); the plain one for kinds without columns of their own."""
    return _tables().get((group, plural), PLAIN)
