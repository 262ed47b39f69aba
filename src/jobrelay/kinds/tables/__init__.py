"""What `kubectl get` shows: column definitions, cells and row conditions of every kind."""

from __future__ import annotations

import functools

from jobrelay.kinds.tables.columns import PLAIN, Column, TableSpec
from jobrelay.kinds.tables.custom import crd_table

__all__ = ["Column", "TableSpec", "crd_table", "default_table", "table_for"]

default_table = PLAIN


@functools.cache
def _tables() -> dict[tuple[str, str], TableSpec]:
    from jobrelay.kinds.tables import core, events, networking, pods, policies, storage, workloads

    found: dict[tuple[str, str], TableSpec] = {}
    for module in (core, pods, events, workloads, networking, storage, policies):
        found |= module.TABLES
    return found


def table_for(group: str, plural: str) -> TableSpec:
    """The table of a built-in kind, such as ("batch", "jobs"); the plain one for kinds without columns of their own."""
    return _tables().get((group, plural), default_table)
