"""Workload kinds that are described by data."""

from __future__ import annotations

from jobrelay.workloads.declared.adapter import DeclaredAdapter
from jobrelay.workloads.declared.decoding import DescriptionError, decode_description
from jobrelay.workloads.declared.description import KindDescription

__all__ = ["DeclaredAdapter", "DescriptionError", "KindDescription", "decode_description"]
