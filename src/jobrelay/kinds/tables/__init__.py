"""What `kubectl get` shows: column definitions, cells and row conditions of every kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobrelay.lazy import lazy_exports

if TYPE_CHECKING:
    from jobrelay.kinds.tables.catalog import table_for
    from jobrelay.kinds.tables.columns import TableSpec
    from jobrelay.kinds.tables.custom import crd_table

__all__ = ["TableSpec", "crd_table", "table_for"]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, catalog="table_for", columns="TableSpec", custom="crd_table")
