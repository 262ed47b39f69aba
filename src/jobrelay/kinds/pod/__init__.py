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
from jobrelay.kinds.pod.warnings import pod_template_warnings

__all__ = [
    "default_pod",
    "default_pod_spec",
    "default_pod_template",
    "drop_disabled_fields",
    "drop_disabled_template_fields",
    "pod_template_warnings",
    "validate_pod_spec",
    "validate_pod_template_spec",
]
