"""The events of a workload: those about the original, and on its worker those about its mirror and its pods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from jobrelay.relay.api.names import API_VERSION

_MOST: Final = 500


def event_list(found: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The latest ones, in the order of their times."""
    latest = sorted(found, key=lambda each: each["time"])[-_MOST:]
    return {"apiVersion": API_VERSION, "kind": "WorkloadEventList", "metadata": {}, "items": latest}
