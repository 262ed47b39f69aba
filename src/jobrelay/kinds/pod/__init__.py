"""Pods and pod templates: defaults, checks, warnings, strategies. Other kinds use the names below for their templates."""

from __future__ import annotations

from jobrelay.kinds.pod.defaults import (
    default_pod,
    default_pod_spec,
    default_pod_template,
    drop_disabled_fields,
    drop_disabled_template_fields,
)
from jobrelay.kinds.pod.spec import validate_pod_spec, validate_pod_template_spec

__all__ = [
    "default_pod",
    "default_pod_spec",
    "default_pod_template",
    "drop_disabled_fields",
    "drop_disabled_template_fields",
    "validate_pod_spec",
    "validate_pod_template_spec",
]
