"""policy/v1 PodDisruptionBudgets."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.decode import zero
from jobrelay.apimachinery.field import FieldError, Path, invalid, not_supported
from jobrelay.apimachinery.gostruct import struct_value
from jobrelay.apimachinery.meta import validate_conditions, validate_label_selector, validate_non_negative
from jobrelay.apimachinery.types import type_of
from jobrelay.kinds.apps.common import above_100_percent, int_or_percent_errors
from jobrelay.kinds.generation import keep_spec, prepare_spec_update, start_generation
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

_POLICY: Final = "io.k8s.api.policy.v1."
_SPEC: Final = Path("spec")
_EVICTION_POLICIES: Final = ("AlwaysAllow", "IfHealthyBudget")
_COUNTERS: Final = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
_MATCH_LABEL: Final = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"


def _default(budget: Obj) -> None:
    """A label that once distinguished match-all from match-none is never mixed with the user's selector."""
    selector = budget["spec"].get("selector") or {}
    expressions = selector.get("matchExpressions") or []
    marks = [e for e in expressions if e["key"] == _MATCH_LABEL]
    alone = len(expressions) == 1 and not selector.get("matchLabels")
    if not marks or (alone and marks[0]["operator"] in ("Exists", "DoesNotExist") and not marks[0].get("values")):
        return
    rest = [e for e in expressions if e["key"] != _MATCH_LABEL]
    if rest:
        selector["matchExpressions"] = rest
    else:
        del selector["matchExpressions"]


def _prepare_create(budget: Obj) -> None:
    budget["status"] = zero(type_of(_POLICY + "PodDisruptionBudgetStatus"))
    start_generation(budget)


def _validate(budget: Obj, *, any_label_value: bool = False) -> list[FieldError]:
    spec: dict[str, Any] = budget["spec"]
    errors: list[FieldError] = []
    if "minAvailable" in spec and "maxUnavailable" in spec:
        shown = struct_value(spec, _POLICY + "PodDisruptionBudgetSpec")
        errors.append(invalid(_SPEC, shown, "minAvailable and maxUnavailable cannot be both set"))
    for name in ("minAvailable", "maxUnavailable"):
        if name in spec:
            errors += int_or_percent_errors(spec[name], _SPEC.child(name))
            errors += above_100_percent(spec[name], _SPEC.child(name))
    if "selector" in spec:
        path = _SPEC.child("selector")
        errors += validate_label_selector(spec["selector"], path, allow_invalid_values=any_label_value)
    eviction = spec.get("unhealthyPodEvictionPolicy")
    if eviction is not None and eviction not in _EVICTION_POLICIES:
        errors.append(not_supported(_SPEC.child("unhealthyPodEvictionPolicy"), eviction, _EVICTION_POLICIES))
    return errors


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    selector = old["spec"].get("selector")
    return _validate(new, any_label_value=selector is not None and bool(validate_label_selector(selector, _SPEC)))


def _validate_status(new: Obj, old: Obj) -> list[FieldError]:
    status, path = new["status"], Path("status")
    errors = validate_conditions(status.get("conditions") or [], path.child("conditions"))
    for name in _COUNTERS:
        errors += validate_non_negative(status.get(name) or 0, path.child(name))
    return errors


POD_DISRUPTION_BUDGET: Final = Strategy(
    default=_default,
    prepare_create=_prepare_create,
    validate_create=_validate,
    update=UpdateStrategy(prepare=prepare_spec_update, validate=_validate_update),
    subresources={"status": UpdateStrategy(prepare=keep_spec, validate=_validate_status)},
    unconditional_update=False,
    reset_fields={"": (("status",),), "status": (("spec",),)},
)
STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {("policy", "poddisruptionbudgets"): POD_DISRUPTION_BUDGET}
