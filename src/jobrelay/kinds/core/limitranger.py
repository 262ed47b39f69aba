"""What limit ranges do to new pods and to claims: fill in container resources, then hold everything to the bounds.

Both steps go limit range by limit range. The first one that something violates refuses the request, with all of its
complaints. Pods are judged only when they are new (or resized), claims on every write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, Final

from jobrelay.apimachinery import quantity
from jobrelay.kinds.core.pod.defaults import default_pod_level_resources
from jobrelay.kinds.core.pod.resources import sum_of_containers
from jobrelay.kinds.core.resources import whole
from jobrelay.kinds.strategy import Obj

ANNOTATION: Final = "kubernetes.io/limit-ranger"
Amounts = Mapping[str, str]


def fill_in(pod: Obj, limit_ranges: Iterable[Mapping[str, Any]]) -> None:
    """Sets the default requests and limits of containers, and lists them in an annotation."""
    for limit_range in limit_ranges:
        items = [item for item in _items(limit_range) if item.get("type") == "Container"]
        limits = {k: v for item in items for k, v in (item.get("default") or {}).items()}
        requests = {k: v for item in items for k, v in (item.get("defaultRequest") or {}).items()}
        notes: list[str] = []
        for field, kind in (("containers", "container"), ("initContainers", "init container")):
            for container in pod["spec"].get(field) or ():
                notes += _fill_container(container, requests, limits, f"{kind} {container.get('name', '')}")
        if notes:
            annotations = pod["metadata"].setdefault("annotations", {})
            annotations[ANNOTATION] = "LimitRanger plugin set: " + "; ".join(notes)
    if pod["spec"].get("resources"):
        default_pod_level_resources(pod["spec"])


def _items(limit_range: Mapping[str, Any]) -> list[dict[str, Any]]:
    return limit_range["spec"].get("limits") or []


def _fill_container(container: dict[str, Any], requests: Amounts, limits: Amounts, who: str) -> list[str]:
    notes: list[str] = []
    resources = container.setdefault("resources", {})
    for field, word, defaults in (("requests", "request", requests), ("limits", "limit", limits)):
        added = sorted(defaults.keys() - (resources.get(field) or {}).keys())
        if added:
            resources[field] = (resources.get(field) or {}) | {name: defaults[name] for name in added}
            notes.append(f"{', '.join(added)} {word} for {who}")
    return notes


def pod_refusal(pod: Obj, limit_ranges: Iterable[Mapping[str, Any]]) -> str:
    """Why limit ranges refuse a pod, or an empty text."""
    return _first_refusal(limit_ranges, lambda item: _pod_complaints(pod["spec"], item))


def claim_refusal(claim: Obj, limit_ranges: Iterable[Mapping[str, Any]]) -> str:
    """Why limit ranges refuse a claim, or an empty text."""
    return _first_refusal(limit_ranges, lambda item: _claim_complaints(claim["spec"], item))


def _first_refusal(limit_ranges: Iterable[Mapping[str, Any]], complain: Callable[[dict[str, Any]], list[str]]) -> str:
    for limit_range in limit_ranges:
        complaints = list(dict.fromkeys(text for item in _items(limit_range) for text in complain(item)))
        if complaints:
            return complaints[0] if len(complaints) == 1 else f"[{', '.join(complaints)}]"
    return ""


def _pod_complaints(spec: dict[str, Any], item: dict[str, Any]) -> list[str]:
    if item.get("type") == "Pod":
        return _complaints("Pod", item, pod_total(spec, "requests"), pod_total(spec, "limits"))
    if item.get("type") != "Container":
        return []
    found: list[str] = []
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        resources = container.get("resources") or {}
        found += _complaints("Container", item, resources.get("requests") or {}, resources.get("limits") or {})
    return found


def _claim_complaints(spec: dict[str, Any], item: dict[str, Any]) -> list[str]:
    if item.get("type") != "PersistentVolumeClaim":
        return []
    requests = spec["resources"].get("requests") or {}
    found = [_below(item["type"], name, bound, requests, {}) for name, bound in sorted((item.get("min") or {}).items())]
    for name, bound in sorted((item.get("max") or {}).items()):
        found.append(_above(item["type"], name, bound, "request", requests, {}))
    return [text for text in found if text]


def _complaints(kind: str, item: dict[str, Any], requests: Amounts, limits: Amounts) -> list[str]:
    found = [_below(kind, name, bound, requests, limits) for name, bound in sorted((item.get("min") or {}).items())]
    for name, bound in sorted((item.get("max") or {}).items()):
        found.append(_above(kind, name, bound, "limit", limits, requests))
    for name, bound in sorted((item.get("maxLimitRequestRatio") or {}).items()):
        found.append(_ratio(kind, name, bound, requests, limits))
    return [text for text in found if text]


def _milli(amounts: Amounts, name: str) -> int:
    return whole(quantity.number(amounts.get(name, "0")) * 1000)


def _below(kind: str, name: str, bound: str, requests: Amounts, limits: Amounts) -> str:
    head, least = f"minimum {name} usage per {kind} is {bound}", _milli({name: bound}, name)
    if name not in requests:
        return f"{head}.  No request is specified"
    if _milli(requests, name) < least:
        return f"{head}, but request is {requests[name]}"
    return f"{head}, but limit is {limits[name]}" if name in limits and _milli(limits, name) < least else ""


def _above(kind: str, name: str, bound: str, needed: str, amounts: Amounts, others: Amounts) -> str:
    head, most = f"maximum {name} usage per {kind} is {bound}", _milli({name: bound}, name)
    if name not in amounts:
        return f"{head}.  No {needed} is specified"
    if _milli(amounts, name) > most:
        return f"{head}, but {needed} is {amounts[name]}"
    return f"{head}, but request is {others[name]}" if name in others and _milli(others, name) > most else ""


def _ratio(kind: str, name: str, bound: str, requests: Amounts, limits: Amounts) -> str:
    head = f"{name} max limit to request ratio per {kind} is {bound}"
    for word, amounts in (("request", requests), ("limit", limits)):
        if _milli(amounts, name) == 0:
            return f"{head}, but no {word} is specified or {word} is 0"
    ratio = Fraction(_milli(limits, name), _milli(requests, name))
    return f"{head}, but provided ratio is {float(ratio):f}" if ratio > quantity.number(bound) else ""


def pod_total(spec: dict[str, Any], field: str) -> dict[str, str]:
    """What a pod asks for as a whole: its containers together, or what is set for the pod."""
    total = {name: str(amount) for name, amount in sum_of_containers(spec, field).items()}
    pod_level = (spec.get("resources") or {}).get(field) or {}
    return total | {name: pod_level[name] for name in ("cpu", "memory") if name in pod_level}
