"""autoscaling HorizontalPodAutoscalers: served as v1 and v2, stored as v2.

The rules are those of v2. The hooks also take v1 objects: they convert them to v2 and back.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

from jobrelay.apimachinery.decode import zero
from jobrelay.apimachinery.field import FieldError
from jobrelay.apimachinery.types import type_of
from jobrelay.kinds.autoscaling import conversion, validation
from jobrelay.kinds.autoscaling.conversion import DEFAULT_CPU_PERCENT, cpu_metric, drop_round_trip_annotations, v2_to_v1
from jobrelay.kinds.generation import keep
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

__all__ = ["STRATEGIES", "v1_to_v2", "v2_to_v1"]

V1: Final = "autoscaling/v1"
_PERIOD: Final = 15
_SCALE_UP: Final[dict[str, Any]] = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": _PERIOD},
        {"type": "Percent", "value": 100, "periodSeconds": _PERIOD},
    ],
}
_SCALE_DOWN: Final[dict[str, Any]] = {
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": _PERIOD}],
}


def _default(hpa: Obj) -> None:
    if hpa.get("apiVersion") == V1:
        hpa["spec"].setdefault("minReplicas", 1)
        _rewrite(hpa, conversion.v1_to_v2(hpa))
    else:
        _default_v2(hpa)


def _default_v2(hpa: Obj) -> None:
    spec = hpa["spec"]
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        spec["metrics"] = [cpu_metric(DEFAULT_CPU_PERCENT)]
    if "behavior" in spec:
        behavior = spec["behavior"]
        behavior["scaleUp"] = copy.deepcopy(_SCALE_UP) | behavior.get("scaleUp", {})
        behavior["scaleDown"] = copy.deepcopy(_SCALE_DOWN) | behavior.get("scaleDown", {})
    drop_round_trip_annotations(hpa["metadata"])


def v1_to_v2(hpa: Obj) -> Obj:
    """A v1 object as it is stored: converted, with the defaults of v2."""
    made = conversion.v1_to_v2(hpa)
    _default_v2(made)
    return made


def _as_v2(hpa: Obj) -> Obj:
    return conversion.v1_to_v2(hpa) if hpa.get("apiVersion") == V1 else hpa


def _rewrite(hpa: Obj, changed: Obj) -> None:
    """Puts a changed v2 form back into the object that it was made from."""
    if changed is not hpa:
        shown = v2_to_v1(changed)
        hpa.clear()
        hpa.update(shown)


def _prepare_create(hpa: Obj) -> None:
    made = _as_v2(hpa)
    made["status"] = zero(type_of("io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerStatus"))
    _rewrite(hpa, made)


def _keep(field: str) -> Callable[[Obj, Obj], None]:
    def prepare(new: Obj, old: Obj) -> None:
        made = _as_v2(new)
        keep(made, _as_v2(old), field)
        _rewrite(new, made)

    return prepare


def _against_old(check: Callable[[Obj, Obj], list[FieldError]]) -> Callable[[Obj, Obj], list[FieldError]]:
    return lambda new, old: check(_as_v2(new), _as_v2(old))


HORIZONTAL_POD_AUTOSCALER: Final = Strategy(
    default=_default,
    prepare_create=_prepare_create,
    validate_create=lambda hpa: validation.validate_create(_as_v2(hpa)),
    update=UpdateStrategy(prepare=_keep("status"), validate=_against_old(validation.validate_update)),
    subresources={
        "status": UpdateStrategy(prepare=_keep("spec"), validate=_against_old(validation.validate_status_update))
    },
    reset_fields={"": (("status",),), "status": (("spec",),)},
)
STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    ("autoscaling", "horizontalpodautoscalers"): HORIZONTAL_POD_AUTOSCALER
}
