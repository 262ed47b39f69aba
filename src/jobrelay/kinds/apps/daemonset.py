"""apps/v1 DaemonSets.

The internal version counts template generations in the spec; clients see the count as an annotation that is always
there.
"""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery import meta
from jobrelay.apimachinery.field import FieldError, Path, invalid, not_supported, required
from jobrelay.apimachinery.gostruct import LABEL_SELECTOR, struct_value
from jobrelay.apimachinery.names import name_is_dns_subdomain
from jobrelay.apimachinery.selectors import SelectorError, selector_from_object
from jobrelay.kinds.apps import common
from jobrelay.kinds.apps.deployment import parse_int64
from jobrelay.kinds.core.pod.defaults import default_pod_template, drop_disabled_template_fields
from jobrelay.kinds.core.pod.spec import validate_pod_template_spec
from jobrelay.kinds.core.pod.warnings import pod_template_warnings
from jobrelay.kinds.generation import count_spec_changes, keep_spec, keep_status
from jobrelay.kinds.hidden import TEMPLATE_GENERATION
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

_COUNTERS: Final = (
    "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "observedGeneration",
    "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount",
)  # fmt: skip


def default_daemon_set(daemon_set: Obj) -> None:
    spec = daemon_set["spec"]
    strategy = spec["updateStrategy"]
    strategy.setdefault("type", "RollingUpdate")
    rolling = strategy.setdefault("rollingUpdate", {}) if strategy["type"] == "RollingUpdate" else None
    if rolling is not None:
        rolling.setdefault("maxUnavailable", 1)
    if "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("maxUnavailable", 0)
        strategy["rollingUpdate"].setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    default_pod_template(spec["template"])
    annotations = daemon_set["metadata"].setdefault("annotations", {})
    annotations[TEMPLATE_GENERATION] = str(parse_int64(annotations.get(TEMPLATE_GENERATION, "0")))


def _generation(daemon_set: Obj) -> int:
    return int((daemon_set["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, 0))


def _set_generation(daemon_set: Obj, generation: int) -> None:
    daemon_set["metadata"].setdefault("annotations", {})[TEMPLATE_GENERATION] = str(generation)


def _prepare_create(daemon_set: Obj) -> None:
    common.prepare_create(daemon_set, "DaemonSet")
    _set_generation(daemon_set, max(_generation(daemon_set), 1))


def _prepare_update(new: Obj, old: Obj) -> None:
    drop_disabled_template_fields(new["spec"]["template"], old["spec"]["template"])
    keep_status(new, old)
    template_changed = new["spec"]["template"] != old["spec"]["template"]
    _set_generation(new, _generation(old) + (1 if template_changed else 0))
    count_spec_changes(new, old)


def _validate_create(daemon_set: Obj) -> list[FieldError]:
    errors = meta.validate_object_meta(daemon_set["metadata"], namespaced=True, name_fn=name_is_dns_subdomain)
    return errors + _spec_errors(daemon_set)


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = meta.validate_object_meta_update(new["metadata"], old["metadata"])
    errors += common.immutable_selector(new["spec"], old["spec"])
    return errors + _spec_errors(new)


def _spec_errors(daemon_set: Obj) -> list[FieldError]:
    spec = daemon_set["spec"]
    errors = _selector_errors(spec)
    errors += validate_pod_template_spec(spec["template"], common.TEMPLATE)
    errors += common.long_running_errors(spec["template"]["spec"], "DaemonSet")
    errors += meta.validate_non_negative(spec.get("minReadySeconds", 0), common.SPEC.child("minReadySeconds"))
    errors += meta.validate_non_negative(_generation(daemon_set), common.SPEC.child("templateGeneration"))
    errors += _strategy_errors(spec["updateStrategy"], common.SPEC.child("updateStrategy"))
    return errors + meta.validate_non_negative(spec["revisionHistoryLimit"], common.SPEC.child("revisionHistoryLimit"))


def _selector_errors(spec: common.Spec) -> list[FieldError]:
    selector, path = spec.get("selector"), common.SPEC.child("selector")
    labels = spec["template"]["metadata"].get("labels")
    errors = [] if selector is None else meta.validate_label_selector(selector, path)
    try:
        matches = selector is not None and selector_from_object(selector).matches(labels or {})
    except SelectorError:
        matches = True
    if not matches:
        errors.append(invalid(common.TEMPLATE.child("metadata", "labels"), labels, common.NO_MATCH))
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(invalid(path, struct_value(selector, LABEL_SELECTOR), "empty selector is invalid for daemonset"))
    return errors


def _strategy_errors(strategy: dict[str, Any], path: Path) -> list[FieldError]:
    if strategy["type"] == "OnDelete":
        return []
    if strategy["type"] != "RollingUpdate":
        shown = struct_value(strategy, common.APPS + "DaemonSetUpdateStrategy")
        return [not_supported(path, shown, ("RollingUpdate", "OnDelete"))]
    return _rolling_errors(strategy["rollingUpdate"], path.child("rollingUpdate"))


def _rolling_errors(rolling: dict[str, Any], path: Path) -> list[FieldError]:
    unavailable, surge = rolling["maxUnavailable"], rolling["maxSurge"]
    errors: list[FieldError] = []
    for check in (common.int_or_percent_errors, common.above_100_percent):
        errors += check(unavailable, path.child("maxUnavailable"))
        errors += check(surge, path.child("maxSurge"))
    has_unavailable, has_surge = common.int_or_percent(unavailable) != 0, common.int_or_percent(surge) != 0
    if has_unavailable and has_surge:
        errors.append(invalid(path.child("maxSurge"), surge, "may not be set when maxUnavailable is non-zero"))
    elif not has_unavailable and not has_surge:
        errors.append(required(path.child("maxUnavailable"), "cannot be 0 when maxSurge is 0"))
    return errors


def _validate_status(new: Obj, old: Obj) -> list[FieldError]:
    errors = meta.validate_object_meta_update(new["metadata"], old["metadata"])
    return errors + common.counter_errors(new["status"], _COUNTERS) + common.decremented(new, old)


def _prepare_status(new: Obj, old: Obj) -> None:
    keep_spec(new, old)
    _set_generation(new, _generation(old))


def _warn_update(new: Obj, old: Obj) -> list[str]:
    if _generation(new) == _generation(old):
        return []
    return pod_template_warnings(new["spec"]["template"], common.TEMPLATE, old["spec"]["template"])


STRATEGIES: Final = {
    ("apps", "daemonsets"): Strategy(
        default=default_daemon_set,
        prepare_create=_prepare_create,
        validate_create=_validate_create,
        warn_create=common.template_warnings,
        update=UpdateStrategy(prepare=_prepare_update, validate=_validate_update, warn=_warn_update),
        subresources={"status": UpdateStrategy(prepare=_prepare_status, validate=_validate_status)},
        reset_fields=common.RESET,
    )
}
