"""What the kit reads of any Job to know whether it is its own."""

from __future__ import annotations

import msgspec

__all__ = ["ManagedByJob"]


class _Spec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    managed_by: str | None = None


class ManagedByJob(msgspec.Struct, frozen=True, gc=False):
    spec: _Spec = _Spec()
