"""autoscaling/v1 HorizontalPodAutoscalers, which are stored as v2.

The old version knows only the CPU target. Everything else of v2 (other metrics, behavior, conditions) travels through
v1 in annotations, as JSON texts, so that a client that reads and writes v1 loses nothing.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from jobrelay.apimachinery.decode import DecodeError, decode
from jobrelay.apimachinery.gojson import UNREADABLE
from jobrelay.apimachinery.gostruct import struct_value
from jobrelay.apimachinery.types import type_for_kind, type_of
from jobrelay.kinds.hidden import BEHAVIOR, CONDITIONS, CURRENT_METRICS, METRICS, ROUND_TRIP
from jobrelay.kinds.strategy import Obj

_V2: Final = "io.k8s.api.autoscaling.v2."
DEFAULT_CPU_PERCENT: Final = 80
_SPEC_FIELDS: Final = ("scaleTargetRef", "minReplicas", "maxReplicas")
_STATUS_FIELDS: Final = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")
_SOURCES: Final = ("object", "pods", "resource", "containerResource", "external")
Dict = dict[str, Any]


def cpu_metric(percent: int) -> Dict:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def drop_round_trip_annotations(metadata: Dict) -> None:
    annotations = metadata.get("annotations")
    if annotations:
        kept = {key: value for key, value in annotations.items() if key not in ROUND_TRIP}
        if kept:
            metadata["annotations"] = kept
        else:
            del metadata["annotations"]


def _picked(source: Dict, names: tuple[str, ...]) -> Dict:
    return {name: source[name] for name in names if name in source}


def _set(pairs: list[tuple[str, Any]]) -> Dict:
    return {name: value for name, value in pairs if value is not None}


def _is_cpu_target(metric: Dict) -> bool:
    resource = metric.get("resource") or {}
    return metric["type"] == "Resource" and resource.get("name") == "cpu" and "averageUtilization" in resource["target"]


def v2_to_v1(hpa: Obj) -> Obj:
    """The v1 view on a stored autoscaler."""
    spec, status = hpa["spec"], hpa.get("status") or {}
    metadata = dict(hpa["metadata"])
    drop_round_trip_annotations(metadata)
    added = _annotations(spec, status)
    if added:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **added}
    metrics = spec.get("metrics") or []
    percents = [m["resource"]["target"]["averageUtilization"] for m in metrics if _is_cpu_target(m)]
    v1_spec = _picked(spec, _SPEC_FIELDS)
    if percents:
        v1_spec["targetCPUUtilizationPercentage"] = percents[0]
    current = [
        m["resource"]["current"]["averageUtilization"]
        for m in status.get("currentMetrics") or ()
        if m["type"] == "Resource" and (m.get("resource") or {}).get("name") == "cpu"
        and "averageUtilization" in m["resource"]["current"]
    ]  # fmt: skip
    v1_status = {"currentReplicas": 0, "desiredReplicas": 0} | _picked(status, _STATUS_FIELDS)
    if current:
        v1_status["currentCPUUtilizationPercentage"] = current[-1]
    return {
        "kind": hpa.get("kind", "HorizontalPodAutoscaler"), "apiVersion": "autoscaling/v1", "metadata": metadata,
        "spec": v1_spec, "status": v1_status,
    }  # fmt: skip


def _annotations(spec: Dict, status: Dict) -> dict[str, str]:
    found: dict[str, Any] = {}
    others = [metric for metric in spec.get("metrics") or () if not _is_cpu_target(metric)]
    if others:
        found[METRICS] = [_to_v1(metric, "target") for metric in others]
    if status.get("currentMetrics"):
        found[CURRENT_METRICS] = [_to_v1(metric, "current") for metric in status["currentMetrics"]]
    if "behavior" in spec:
        found[BEHAVIOR] = struct_value(spec["behavior"], _V2 + "HorizontalPodAutoscalerBehavior")
    if status.get("conditions"):
        names = ("type", "status", "lastTransitionTime", "reason", "message")
        found[CONDITIONS] = [_picked(condition, names) for condition in status["conditions"]]
    return {key: _go_json(value) for key, value in found.items()}


def _go_json(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _to_v1(metric: Dict, which: str) -> Dict:
    """A metric with its target (in a spec) or current value (in a status)."""
    out: Dict = {"type": metric["type"]}
    absent = "0" if which == "current" else None
    for kind in _SOURCES:
        if kind not in metric:
            continue
        source = metric[kind]
        identity = source.get("metric") or {}
        value, average, percent = (source[which].get(n) for n in ("value", "averageValue", "averageUtilization"))
        name, selector = ("metricName", identity.get("name")), identity.get("selector")
        resource = [("name", source.get("name")), (f"{which}AverageUtilization", percent),
                    (f"{which}AverageValue", average or absent)]  # fmt: skip
        out[kind] = _set({
            "object": [("target", _reference(source)), name, (f"{which}Value", value or "0"), ("selector", selector),
                       ("averageValue", average)],
            "pods": [name, (f"{which}AverageValue", average or "0"), ("selector", selector)],
            "resource": resource,
            "containerResource": [*resource, ("container", source.get("container"))],
            "external": [name, ("metricSelector", selector), (f"{which}Value", value or absent),
                         (f"{which}AverageValue", average)],
        }[kind])  # fmt: skip
    return out


def _reference(source: Dict) -> Dict:
    described = source.get("describedObject") or {}
    return _picked(described, ("kind", "name", "apiVersion"))


def v1_to_v2(hpa: Obj) -> Obj:
    """A v1 object as it is stored."""
    spec, status = hpa["spec"], hpa.get("status") or {}
    metadata = dict(hpa["metadata"])
    annotations = metadata.get("annotations") or {}
    made: Obj = {
        "kind": hpa.get("kind", "HorizontalPodAutoscaler"), "apiVersion": "autoscaling/v2", "metadata": metadata,
        "spec": _picked(spec, _SPEC_FIELDS), "status": _picked(status, _STATUS_FIELDS),
    }  # fmt: skip
    cpu = spec.get("targetCPUUtilizationPercentage")
    metrics = [_source_from_v1(metric) for metric in _read_list(annotations, METRICS)]
    metrics += [] if cpu is None else [cpu_metric(cpu)]
    made["spec"]["metrics"] = metrics or [cpu_metric(DEFAULT_CPU_PERCENT)]
    if behavior := _read_behavior(annotations):
        made["spec"]["behavior"] = behavior
    _status_from_v1(made["status"], status, annotations)
    drop_round_trip_annotations(metadata)
    type_ = type_for_kind("autoscaling/v2", "HorizontalPodAutoscaler")
    assert type_ is not None
    canonical: Obj = decode(made, type_)
    return canonical


def _status_from_v1(made: Dict, status: Dict, annotations: dict[str, str]) -> None:
    cpu = status.get("currentCPUUtilizationPercentage")
    if cpu is not None:
        current = {"averageUtilization": cpu}
        made["currentMetrics"] = [{"type": "Resource", "resource": {"name": "cpu", "current": current}}]
    if CURRENT_METRICS in annotations:
        made["currentMetrics"] = [_current_from_v1(metric) for metric in _read_list(annotations, CURRENT_METRICS)]
    if CONDITIONS in annotations:
        made["conditions"] = _read_list(annotations, CONDITIONS)


def _read_list(annotations: dict[str, str], key: str) -> list[Dict]:
    """The objects in an annotation; what cannot be read counts as absent."""
    try:
        value = msgspec.json.decode(annotations.get(key, "[]"))
    except UNREADABLE:
        return []
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _read_behavior(annotations: dict[str, str]) -> Dict:
    """The annotation has Go's field names, which Go reads in any case."""
    try:
        raw = msgspec.json.decode(annotations.get(BEHAVIOR, "{}"))
        made: Dict = decode(_uncapitalized(raw), type_of(_V2 + "HorizontalPodAutoscalerBehavior"))
    except (*UNREADABLE, DecodeError):
        return {}
    return made


def _uncapitalized(value: Any) -> Any:
    if isinstance(value, dict):
        return {key[:1].lower() + key[1:]: _uncapitalized(item) for key, item in value.items()}
    return [_uncapitalized(item) for item in value] if isinstance(value, list) else value


def _source_from_v1(metric: Dict) -> Dict:
    out: Dict = {"type": metric.get("type", "")}
    for kind in _SOURCES:
        if kind not in metric:
            continue
        source = metric[kind]
        percent = source.get("targetAverageUtilization")
        if kind in ("resource", "containerResource"):
            target = [("type", "AverageValue" if percent is None else "Utilization"),
                      ("averageValue", source.get("targetAverageValue")), ("averageUtilization", percent)]  # fmt: skip
            out[kind] = _picked(source, ("name", "container")) | {"target": _set(target)}
            continue
        value = source.get("targetValue")
        average = source.get("averageValue" if kind == "object" else "targetAverageValue")
        if kind == "object":
            type_, value = ("Value" if average is None else "AverageValue"), value or "0"
        elif kind == "pods":
            type_, value, average = "AverageValue", None, average or "0"
        else:
            type_ = "AverageValue" if value is None else "Value"
        target = [("type", type_), ("value", value), ("averageValue", average)]
        out[kind] = _identity_from_v1(kind, source) | {"target": _set(target)}
    return out


def _current_from_v1(metric: Dict) -> Dict:
    out: Dict = {"type": metric.get("type", "")}
    for kind in _SOURCES:
        if kind not in metric:
            continue
        source = metric[kind]
        average = source.get("averageValue" if kind == "object" else "currentAverageValue")
        if kind in ("resource", "containerResource"):
            percent = source.get("currentAverageUtilization")
            current = [("averageValue", average or "0"), ("averageUtilization", percent)]
            out[kind] = _picked(source, ("name", "container")) | {"current": _set(current)}
            continue
        value = None if kind == "pods" else source.get("currentValue") or "0"
        current = [("value", value), ("averageValue", average or ("0" if kind == "pods" else None))]
        out[kind] = _identity_from_v1(kind, source) | {"current": _set(current)}
    return out


def _identity_from_v1(kind: str, source: Dict) -> Dict:
    selector = source.get("metricSelector" if kind == "external" else "selector")
    made: Dict = {"metric": _set([("name", source.get("metricName", "")), ("selector", selector)])}
    if kind == "object":
        made["describedObject"] = source.get("target") or {}
    return made
