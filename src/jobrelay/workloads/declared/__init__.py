"""Workload kinds that are described by data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobrelay.lazy import lazy_exports

if TYPE_CHECKING:
    from jobrelay.workloads.declared.adapter import DeclaredAdapter
    from jobrelay.workloads.declared.decoding import DescriptionError, decode_description
    from jobrelay.workloads.declared.description import KindDescription

__all__ = ["DeclaredAdapter", "DescriptionError", "KindDescription", "decode_description"]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(
        __name__,
        adapter="DeclaredAdapter",
        decoding="DescriptionError decode_description",
        description="KindDescription",
    )
