"""APIs that every request to is answered with a warning, whatever comes of the request."""

from __future__ import annotations

from typing import Final

WARNINGS: Final = {
    ("", "v1", "componentstatuses"): "v1 ComponentStatus is deprecated in v1.19+",
    ("", "v1", "endpoints"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}


def deprecation_warning(group: str, version: str, plural: str) -> str:
    """The warning for a resource, or an empty text."""
    return WARNINGS.get((group, version, plural), "")
