"""What a HorizontalPodAutoscaler must look like, in its stored version v2."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, forbidden, invalid, not_supported, one_of, required
from jobrelay.apimachinery.meta import validate_non_negative, validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import is_dns1123_label, name_is_dns_subdomain, name_is_path_segment
from jobrelay.apimachinery.quantity import number
from jobrelay.kinds.core.resources import validate_container_resource_name
from jobrelay.kinds.strategy import Obj

_SPEC: Final = Path("spec")
_METRIC_TYPES: Final = {
    "Object": "object", "Pods": "pods", "Resource": "resource", "External": "external",
    "ContainerResource": "containerResource",
}  # fmt: skip
_TARGET_TYPES: Final = ("Utilization", "Value", "AverageValue")
_SELECT_POLICIES: Final = ("Disabled", "Max", "Min")
_POLICY_TYPES: Final = ("Percent", "Pods")
MAX_PERIOD: Final = 1800
MAX_WINDOW: Final = 3600
Dict = dict[str, Any]
Errors = list[FieldError]


def validate_create(hpa: Obj) -> Errors:
    errors = validate_object_meta(hpa["metadata"], namespaced=True, name_fn=name_is_dns_subdomain)
    return errors + _spec_errors(hpa["spec"], None)


def validate_update(new: Obj, old: Obj) -> Errors:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    return errors + _spec_errors(new["spec"], old["spec"])


def validate_status_update(new: Obj, old: Obj) -> Errors:
    errors, status, path = validate_object_meta_update(new["metadata"], old["metadata"]), new["status"], Path("status")
    for name in ("currentReplicas", "desiredReplicas"):
        errors += validate_non_negative(status.get(name) or 0, path.child(name))
    return errors


def _spec_errors(spec: Dict, old: Dict | None) -> Errors:
    errors: Errors = []
    least = 0 if old is not None and old.get("minReplicas") == 0 else 1
    low, high = spec.get("minReplicas"), spec["maxReplicas"]
    if low is not None and low < least:
        errors.append(invalid(_SPEC.child("minReplicas"), low, f"must be greater than or equal to {least}"))
    if high < 1:
        errors.append(invalid(_SPEC.child("maxReplicas"), high, "must be greater than 0"))
    if low is not None and high < low:
        errors.append(invalid(_SPEC.child("maxReplicas"), high, "must be greater than or equal to `minReplicas`"))
    errors += _target_errors(spec["scaleTargetRef"], None if old is None else old["scaleTargetRef"])
    errors += _metrics_errors(spec, old)
    for name in ("scaleUp", "scaleDown"):
        rules = (spec.get("behavior") or {}).get(name)
        if rules is not None:
            errors += _rules_errors(rules, _SPEC.child("behavior", name))
    return errors


def _target_errors(target: Dict, old: Dict | None) -> Errors:
    same = old is not None and all(target.get(n, "") == old.get(n, "") for n in ("apiVersion", "kind"))
    core = target["kind"] == "ReplicationController"
    return _reference_errors(target, _SPEC.child("scaleTargetRef"), any_version=same, core_group=core)


def _reference_errors(reference: Dict, path: Path, *, any_version: bool, core_group: bool) -> Errors:
    errors: Errors = []
    for name in ("kind", "name"):
        value = reference.get(name, "")
        if not value:
            errors.append(required(path.child(name)))
        errors += [invalid(path.child(name), value, text) for text in name_is_path_segment(value, False) if value]
    version = reference.get("apiVersion", "")
    problem = "" if any_version else _version_problem(version, core_group)
    if problem:
        errors.append(invalid(path.child("apiVersion"), version, problem))
    return errors


def _version_problem(version: str, core_group: bool) -> str:
    if version.count("/") > 1:
        return f"unexpected GroupVersion string: {version}"
    group = version.partition("/")[0] if "/" in version else ""
    return "" if group or core_group else "apiVersion must specify API group"


def _metrics_errors(spec: Dict, old: Dict | None) -> Errors:
    path = _SPEC.child("metrics")
    any_version = any(
        metric["type"] == "Object" and "object" in metric
        and _version_problem(metric["object"]["describedObject"].get("apiVersion", ""), True)
        for metric in (old or {}).get("metrics") or ()
    )  # fmt: skip
    metrics = spec.get("metrics") or []
    errors: Errors = []
    for i, metric in enumerate(metrics):
        errors += _metric_errors(metric, path.index(i), any_version)
    if spec.get("minReplicas") == 0 and not any(metric["type"] in ("Object", "External") for metric in metrics):
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.append(forbidden(path, text))
    return errors


def _metric_errors(metric: Dict, path: Path, any_version: bool) -> Errors:
    type_ = metric["type"]
    errors: Errors = []
    unknown = not_supported(path.child("type"), type_, sorted(_METRIC_TYPES))
    if not type_:
        errors.append(required(path.child("type"), "must specify a metric source type"))
    if type_ not in _METRIC_TYPES:
        errors.append(unknown)
    present = [name for name in ("object", "external", "pods", "resource", "containerResource") if name in metric]
    if present:
        errors += _source_errors(present[0], metric[present[0]], path.child(present[0]), any_version)
    expected = _METRIC_TYPES.get(type_)
    if expected is None:
        errors.append(unknown)
    elif expected not in metric:
        errors.append(required(path.child(expected), "must populate information for the given metric source"))
    if len(present) != 1:
        others = [name for name in present if name != expected]
        errors += [forbidden(path.child(name), "must populate the given metric source only") for name in others]
    return errors


def _source_errors(kind: str, source: Dict, path: Path, any_version: bool) -> Errors:
    errors: Errors = []
    if kind == "object":
        reference = path.child("describedObject")
        errors += _reference_errors(source["describedObject"], reference, any_version=any_version, core_group=True)
    if kind in ("resource", "containerResource"):
        errors += _resource_name_errors(kind, source, path)
    else:
        errors += _identity_errors(source["metric"], path.child("metric"))
    target, place = source["target"], path.child("target")
    return errors + _metric_target_errors(target, place) + _wanted_errors(kind, target, place)


def _resource_name_errors(kind: str, source: Dict, path: Path) -> Errors:
    errors: Errors = []
    name, container = source["name"], source.get("container", "")
    if not name:
        errors.append(required(path.child("name"), "must specify a resource name"))
    elif kind == "containerResource":
        errors += validate_container_resource_name(name, path.child("name"))
    if kind == "containerResource":
        if not container:
            errors.append(required(path.child("container"), "must specify a container"))
        else:
            errors += [invalid(path.child("container"), container, text) for text in is_dns1123_label(container)]
    return errors


def _wanted_errors(kind: str, target: Dict, path: Path) -> Errors:
    """Which of the target's values a kind of metric needs."""
    value, average, percent = "value" in target, "averageValue" in target, "averageUtilization" in target
    if kind == "object":
        text = "must set either a target value or averageValue"
        return [] if value or average else [required(path.child("averageValue"), text)]
    if kind == "pods":
        text = "must specify a positive target averageValue"
        return [] if average else [required(path.child("averageValue"), text)]
    if kind == "external":
        if value and average:
            return [forbidden(path.child("value"), "may not set both a target value for metric and a per-pod target")]
        text = "must set either a target value for metric or a per-pod target"
        return [] if value or average else [required(path.child("averageValue"), text)]
    if percent and average:
        return [forbidden(path.child("averageValue"), "may not set both a target raw value and a target utilization")]
    text = "must set either a target raw value or a target utilization"
    return [] if percent or average else [required(path.child("averageUtilization"), text)]


def _metric_target_errors(target: Dict, path: Path) -> Errors:
    errors: Errors = []
    type_ = target["type"]
    if not type_:
        errors.append(required(path.child("type"), "must specify a metric target type"))
    if type_ not in _TARGET_TYPES:
        errors.append(invalid(path.child("type"), type_, "must be either Utilization, Value, or AverageValue"))
    for name in ("value", "averageValue"):
        if name in target and number(target[name]) <= 0:
            errors.append(invalid(path.child(name), target[name], "must be positive"))
    if target.get("averageUtilization", 1) < 1:
        errors.append(invalid(path.child("averageUtilization"), target["averageUtilization"], "must be greater than 0"))
    return errors


def _identity_errors(metric: Dict, path: Path) -> Errors:
    name = metric["name"]
    if not name:
        return [required(path.child("name"), "must specify a metric name")]
    return [invalid(path.child("name"), name, text) for text in name_is_path_segment(name, False)]


def _rules_errors(rules: Dict, path: Path) -> Errors:
    errors: Errors = []
    window, place = rules.get("stabilizationWindowSeconds", 0), path.child("stabilizationWindowSeconds")
    if window < 0:
        errors.append(invalid(place, window, "must be greater than or equal to zero"))
    if window > MAX_WINDOW:
        errors.append(invalid(place, window, f"must be less than or equal to {MAX_WINDOW}"))
    select = rules.get("selectPolicy")
    if select is not None and select not in _SELECT_POLICIES:
        errors.append(not_supported(path.child("selectPolicy"), select, _SELECT_POLICIES))
    if not rules.get("policies"):
        errors.append(required(path.child("policies"), "must specify at least one Policy"))
    for i, policy in enumerate(rules.get("policies") or ()):
        errors += _policy_errors(policy, path.child("policies").index(i))
    tolerance = rules.get("tolerance", "0")
    if number(tolerance) < 0:
        errors.append(invalid(path.child("tolerance"), tolerance, "must be greater than or equal to 0"))
    return errors


def _policy_errors(policy: Dict, path: Path) -> Errors:
    errors: Errors = []
    value, period = policy["value"], policy["periodSeconds"]
    errors += one_of(path.child("type"), policy["type"], _POLICY_TYPES)
    if value <= 0:
        errors.append(invalid(path.child("value"), value, "must be greater than zero"))
    if period <= 0:
        errors.append(invalid(path.child("periodSeconds"), period, "must be greater than zero"))
    if period > MAX_PERIOD:
        errors.append(invalid(path.child("periodSeconds"), period, f"must be less than or equal to {MAX_PERIOD}"))
    return errors
