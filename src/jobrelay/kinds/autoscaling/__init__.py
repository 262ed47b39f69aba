"""autoscaling HorizontalPodAutoscalers: served as v1 and v2, stored as v2. The hooks see v2 objects only."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

from jobrelay.kinds.autoscaling.conversion import (
    DEFAULT_CPU_PERCENT,
    cpu_metric,
    drop_round_trip_annotations,
    v1_to_v2,
    v2_to_v1,
)
from jobrelay.kinds.autoscaling.validation import validate_create, validate_status_update, validate_update
from jobrelay.kinds.decode import zero
from jobrelay.kinds.generation import keep
from jobrelay.kinds.strategy import Obj, Strategy, Update
from jobrelay.kinds.types import type_of

__all__ = ["CONVERSIONS", "STRATEGIES", "v1_to_v2", "v2_to_v1"]

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
    spec = hpa["spec"]
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        spec["metrics"] = [cpu_metric(DEFAULT_CPU_PERCENT)]
    if "behavior" in spec:
        behavior = spec["behavior"]
        behavior["scaleUp"] = copy.deepcopy(_SCALE_UP) | behavior.get("scaleUp", {})
        behavior["scaleDown"] = copy.deepcopy(_SCALE_DOWN) | behavior.get("scaleDown", {})
    drop_round_trip_annotations(hpa["metadata"])


def _prepare_create(hpa: Obj) -> None:
    hpa["status"] = zero(type_of("io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerStatus"))


HORIZONTAL_POD_AUTOSCALER: Final = Strategy(
    default=_default,
    prepare_create=_prepare_create,
    validate_create=validate_create,
    update=Update(prepare=lambda new, old: keep(new, old, "status"), validate=validate_update),
    subresources={"status": Update(prepare=lambda new, old: keep(new, old, "spec"), validate=validate_status_update)},
    reset_fields={"": (("status",),), "status": (("spec",),)},
)
STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    ("autoscaling", "horizontalpodautoscalers"): HORIZONTAL_POD_AUTOSCALER,
}
Conversion = tuple[str, Callable[[Obj], Obj], Callable[[Obj], Obj]]
CONVERSIONS: Final[dict[tuple[str, str, str], Conversion]] = {
    ("autoscaling", "v1", "horizontalpodautoscalers"): ("v2", v1_to_v2, v2_to_v1),
}
