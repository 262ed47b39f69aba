"""The tables of all built-in kinds."""

from __future__ import annotations

import functools

from jobrelay.kinds.tables import core, events, networking, pods, policies, storage, workloads
from jobrelay.kinds.tables.columns import PLAIN, TableSpec

__all__ = ["table_for"]


@functools.cache
def _tables() -> dict[tuple[str, str], TableSpec]:
    modules = (core, pods, events, workloads, networking, storage, policies)
    return {kind: table for module in modules for kind, table in module.TABLES.items()}


def table_for(group: str, plural: str) -> TableSpec:
    """The table of a built-in kind, such as ("batch", "jobs"); the plain one for kinds without columns of their own."""
    return _tables().get((group, plural), PLAIN)
