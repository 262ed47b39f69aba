"""Kueue's objects between v1beta1 and v1beta2, for the kinds whose fields have other names or shapes in the other.

`versions` has the conversions as pure functions, `topology` that of topology assignments, `kept` what keeps fields that
v1beta1 does not have. `reviews` answers API servers.
"""

from __future__ import annotations

from .versions import CONVERTED, NEW, OLD, convert

__all__ = ["CONVERTED", "NEW", "OLD", "convert"]
