"""What a pod requests of its node, counted as the scheduler does.

A pod template may have only limits; the API server defaults the requests when a pod is created from it. The same is
done here, so that a template and its pods have the same requests. In templates of custom kinds amounts may be numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from jobrelay.kinds.core.pod.resources import is_pod_level, total_requests

_LISTS: Final = ("requests", "limits")


def pod_requests(spec: Mapping[str, Any]) -> dict[str, Fraction]:
    """The requests of a pod by resource, without those that are zero. Raises ValueError for a malformed amount."""
    filled: dict[str, Any] = {}
    if spec.get("overhead"):
        filled["overhead"] = _texts(spec["overhead"])
    if spec.get("resources"):
        filled["resources"] = {name: _texts(listed) for name, listed in spec["resources"].items() if name in _LISTS}
    for name in ("containers", "initContainers"):
        filled[name] = [_filled(container) for container in spec.get(name) or ()]
    if limits := (filled.get("resources") or {}).get("limits"):
        of_containers = total_requests({name: filled[name] for name in ("containers", "initContainers")})
        missing = {name: text for name, text in limits.items() if is_pod_level(name) and name not in of_containers}
        filled["resources"] = {"requests": {**missing, **(filled["resources"].get("requests") or {})}}
    return total_requests(filled)


def _filled(container: Mapping[str, Any]) -> Mapping[str, Any]:
    resources = container.get("resources") or {}
    requests = {**_texts(resources.get("limits")), **_texts(resources.get("requests"))}
    return {**container, "resources": {"requests": requests}} if requests else container


def _texts(amounts: Mapping[str, Any] | None) -> dict[str, Any]:
    """Amounts by resource, all as texts."""
    return {name: str(each) if type(each) in (int, float) else each for name, each in (amounts or {}).items()}
