"""What a pod asks of its node, counted as the scheduler does.

A pod template may name only limits; the API server fills in the requests when a pod is made of it. The same is done here,
so that a template and the pods made of it add up to the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from jobrelay.kinds.core.pod.resources import is_pod_level, total_requests

__all__ = ["pod_requests"]


def pod_requests(spec: Mapping[str, Any]) -> dict[str, Fraction]:
    """The requests of a pod with this spec, by resource; what is zero is left out. A malformed amount is a ValueError."""
    filled = {name: spec[name] for name in ("overhead", "resources") if spec.get(name)}
    for name in ("containers", "initContainers"):
        filled[name] = [_filled(container) for container in spec.get(name) or ()]
    if limits := (filled.get("resources") or {}).get("limits"):
        of_containers = total_requests({name: filled[name] for name in ("containers", "initContainers")})
        missing = {name: text for name, text in limits.items() if is_pod_level(name) and name not in of_containers}
        filled["resources"] = {"requests": {**missing, **(filled["resources"].get("requests") or {})}}
    return total_requests(filled)


def _filled(container: Mapping[str, Any]) -> Mapping[str, Any]:
    resources = container.get("resources") or {}
    if not resources.get("limits"):
        return container
    return {**container, "resources": {"requests": {**resources["limits"], **(resources.get("requests") or {})}}}
