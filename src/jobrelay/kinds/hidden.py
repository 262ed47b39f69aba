"""Annotations that hold fields of the server's internal versions.

They belong to one version of a kind, and are left out where only metadata is served (Tables, PartialObjectMetadata).
"""

from __future__ import annotations

from typing import Any, Final

TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
ROLLBACK_TO: Final = "deprecated.deployment.rollback.to"
_AUTOSCALING: Final = "autoscaling.alpha.kubernetes.io/"
METRICS: Final = _AUTOSCALING + "metrics"
CURRENT_METRICS: Final = _AUTOSCALING + "current-metrics"
CONDITIONS: Final = _AUTOSCALING + "conditions"
BEHAVIOR: Final = _AUTOSCALING + "behavior"
ROUND_TRIP: Final = frozenset({
    METRICS, CURRENT_METRICS, CONDITIONS, BEHAVIOR, _AUTOSCALING + "scale-down-tolerance",
    _AUTOSCALING + "scale-up-tolerance",
})  # fmt: skip
HIDDEN: Final = ROUND_TRIP | {TEMPLATE_GENERATION, ROLLBACK_TO}


def bare_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Metadata without these annotations; the same object when there are none."""
    annotations = metadata.get("annotations")
    if not annotations or HIDDEN.isdisjoint(annotations):
        return metadata
    kept = {key: value for key, value in annotations.items() if key not in HIDDEN}
    bare = {key: value for key, value in metadata.items() if key != "annotations"}
    return bare | {"annotations": kept} if kept else bare
