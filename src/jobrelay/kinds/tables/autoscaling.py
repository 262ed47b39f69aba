"""The HorizontalPodAutoscaler table. Rows of autoscaling/v1 objects are shown as their autoscaling/v2 form would be."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

import msgspec

from jobrelay.apimachinery.gojson import UNREADABLE
from jobrelay.kinds.tables.columns import AGE, Obj, at, col, field, table
from jobrelay.kinds.tables.texts import NONE, UNSET

_UNKNOWN: Final = "<unknown>"
_SHOWN: Final = 2
_FIELDS: Final = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_METRICS_ANNOTATION: Final = "autoscaling.alpha.kubernetes.io/metrics"
_CURRENT_ANNOTATION: Final = "autoscaling.alpha.kubernetes.io/current-metrics"


def _v1_numbers(prefix: str) -> dict[str, str]:
    """Where the annotations' older form keeps the numbers of a target (or current) value."""
    return {
        f"{prefix}Value": "value",
        f"{prefix}AverageValue": "averageValue",
        f"{prefix}AverageUtilization": "averageUtilization",
        "averageValue": "averageValue",
    }


def _from_v1(hpa: Obj) -> tuple[list[Obj], list[Obj]]:
    annotations = hpa["metadata"].get("annotations") or {}
    specs: list[Obj] = []
    statuses: list[Obj] = []
    utilization = hpa["spec"].get("targetCPUUtilizationPercentage")
    if utilization is not None:
        specs.append({"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": utilization}}})
    current = (hpa.get("status") or {}).get("currentCPUUtilizationPercentage")
    if current is not None:
        statuses.append({"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": current}}})
    for found, annotation, name in ((specs, _METRICS_ANNOTATION, "target"), (statuses, _CURRENT_ANNOTATION, "current")):
        names = _v1_numbers(name)
        for metric in _decoded(annotations.get(annotation)):
            field = _FIELDS.get(metric.get("type", ""), "")
            source = metric.get(field) or {}
            numbers = {new: source[old] for old, new in names.items() if source.get(old) is not None}
            found.append({"type": metric.get("type"), field: {"name": source.get("name", ""), name: numbers}})
    return specs, statuses


def _decoded(text: str | None) -> list[Obj]:
    if not text:
        return []
    try:
        return msgspec.json.decode(text, type=list[dict[str, Any]])
    except UNREADABLE:
        return []


def _metric(spec: Obj, status: Obj | None) -> str:
    kind = spec.get("type", "")
    field = _FIELDS.get(kind)
    if field is None:
        return "<unknown type>"
    source = spec.get(field) or {}
    target: Obj = source.get("target") or {}
    found = (status or {}).get(field)
    current: Obj | None = (found.get("current") or {}) if found is not None else None
    if kind in ("Resource", "ContainerResource"):
        return f"{source.get('name', '')}: {_resource_metric(target, current)}"
    if kind == "Pods":
        return f"{_value(current, 'averageValue')}/{target.get('averageValue', NONE)}"
    if target.get("averageValue") is not None:
        shown = (current or {}).get("averageValue") or _UNKNOWN
        return f"{shown}/{target['averageValue']} (avg)"
    return f"{_value(current, 'value')}/{target.get('value', NONE)}"


def _value(current: Obj | None, name: str) -> str:
    return _UNKNOWN if current is None else str(current.get(name, "<nil>"))


def _resource_metric(target: Obj, current: Obj | None) -> str:
    if target.get("averageValue") is not None:
        return f"{_value(current, 'averageValue')}/{target['averageValue']}"
    used, wanted = (current or {}).get("averageUtilization"), target.get("averageUtilization")
    return f"{_UNKNOWN if used is None else f'{used}%'}/{'<auto>' if wanted is None else f'{wanted}%'}"


def _targets(hpa: Obj, now: dt.datetime) -> str:
    specs = hpa["spec"].get("metrics")
    if specs is None:
        specs, statuses = _from_v1(hpa)
    else:
        statuses = (hpa.get("status") or {}).get("currentMetrics") or []
    if not specs:
        return NONE
    texts = [_metric(spec, statuses[i] if i < len(statuses) else None) for i, spec in enumerate(specs)]
    text = ", ".join(texts[:_SHOWN])
    return f"{text} + {len(texts) - _SHOWN} more..." if len(texts) > _SHOWN else text


def _reference(hpa: Obj, now: dt.datetime) -> str:
    target = hpa["spec"].get("scaleTargetRef") or {}
    return f"{target.get('kind', '')}/{target.get('name', '')}"


HORIZONTAL_POD_AUTOSCALERS: Final = table(
    col("Reference", _reference, "autoscaling.v2.HorizontalPodAutoscalerSpec.scaleTargetRef"),
    col(
        "Targets",
        _targets,
        "autoscaling.v2.HorizontalPodAutoscalerSpec.metrics",
        edits=((" If not set, the default metric will be set to 80% average CPU utilization.", ""),),
    ),
    col(
        "MinPods",
        lambda obj, now: str(at("spec.minReplicas", UNSET)(obj, now)),
        "autoscaling.v2.HorizontalPodAutoscalerSpec.minReplicas",
    ),
    field("MaxPods", "spec.maxReplicas", "autoscaling.v2.HorizontalPodAutoscalerSpec", 0),
    field("Replicas", "status.currentReplicas", "autoscaling.v2.HorizontalPodAutoscalerStatus", 0),
    AGE,
)
