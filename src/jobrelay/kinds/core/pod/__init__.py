"""Pods and pod templates: defaults, checks, warnings, strategies. Other kinds use the names below for their templates."""

from __future__ import annotations

from jobrelay.kinds.core.pod.admission import admit_pod, admit_pod_update, service_account_of
from jobrelay.kinds.core.pod.binding import bind_pod, validate_binding
from jobrelay.kinds.core.pod.claims import validate_claim_template
from jobrelay.kinds.core.pod.defaults import (
    default_pod,
    default_pod_spec,
    default_pod_template,
    drop_disabled_fields,
    drop_disabled_template_fields,
)
from jobrelay.kinds.core.pod.podsecurity import (
    admit_pod_security,
    is_significant_update,
    namespace_warnings,
    template_of,
    validate_namespace_labels,
)
from jobrelay.kinds.core.pod.spec import validate_pod_spec, validate_pod_template_spec
from jobrelay.kinds.core.pod.strategy import STRATEGIES, pod_grace_period
from jobrelay.kinds.core.pod.streams import ContainerError, choose_container, validate_log_options
from jobrelay.kinds.core.pod.warnings import pod_template_warnings

__all__ = [
    "STRATEGIES",
    "ContainerError",
    "admit_pod",
    "admit_pod_security",
    "admit_pod_update",
    "bind_pod",
    "choose_container",
    "default_pod",
    "default_pod_spec",
    "default_pod_template",
    "drop_disabled_fields",
    "drop_disabled_template_fields",
    "is_significant_update",
    "namespace_warnings",
    "pod_grace_period",
    "pod_template_warnings",
    "service_account_of",
    "template_of",
    "validate_binding",
    "validate_claim_template",
    "validate_log_options",
    "validate_namespace_labels",
    "validate_pod_spec",
    "validate_pod_template_spec",
]
