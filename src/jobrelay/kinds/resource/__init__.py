"""The kinds of resource.k8s.io: ResourceSlices, DeviceClasses, ResourceClaims."""

from __future__ import annotations

from typing import Final

from jobrelay.kinds.resource import claims, classes, slices
from jobrelay.kinds.strategy import Strategy

STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    **classes.STRATEGIES,
    **claims.STRATEGIES,
    **slices.STRATEGIES,
}
