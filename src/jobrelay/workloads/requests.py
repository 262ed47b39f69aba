"""What a pod requests of its node, counted as the scheduler does.

A pod template may have only limits; the API server defaults the requests when a pod is created from it. The same is
done here, so that a template and its pods have the same requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from jobrelay.kinds.core.pod.resources import is_pod_level, total_requests


def pod_requests(spec: Mapping[str, Any]) -> dict[str, Fraction]:
    """The requests of a pod by resource, without those that are zero. Raises ValueError for a malformed amount."""
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
