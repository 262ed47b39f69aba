"""The evaluator of each resource."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Final

from jobrelay.kinds.core.quota.evaluator import ALIASED, Evaluator
from jobrelay.kinds.core.quota.objects import (
    CLAIMS,
    DEVICE_CLAIMS,
    ClaimEvaluator,
    DeviceClaimEvaluator,
    ServiceEvaluator,
)
from jobrelay.kinds.core.quota.pods import PODS, PodEvaluator

_IGNORED: Final = frozenset({"events", "events.events.k8s.io"})
_SPECIAL: Final[dict[str, Callable[[], Evaluator]]] = {
    PODS: PodEvaluator,
    "services": ServiceEvaluator,
    CLAIMS: ClaimEvaluator,
    DEVICE_CLAIMS: DeviceClaimEvaluator,
}


@functools.lru_cache(256)
def evaluator_of(key: str) -> Evaluator | None:
    """The evaluator of a resource; None for one that quotas ignore."""
    if key in _IGNORED:
        return None
    return _SPECIAL[key]() if key in _SPECIAL else Evaluator(key)


def evaluators_of(names: Iterable[str]) -> list[Evaluator]:
    """The evaluators that the names of a quota may be about."""
    counted = {name.removeprefix("count/") for name in names if name.startswith("count/")}
    keys = sorted({*_SPECIAL, *ALIASED, *counted})
    found = [evaluator for key in keys if (evaluator := evaluator_of(key)) is not None]
    return [evaluator for evaluator in found if evaluator.matching(names)]
