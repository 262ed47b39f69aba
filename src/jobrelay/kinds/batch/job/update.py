"""What may change in a Job after it was made.

Most of the spec is fixed. The template may get new scheduling directives while the Job is suspended and has never
started, and an Indexed Job may be scaled when completions and parallelism change together.
"""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, invalid
from jobrelay.apimachinery.gostruct import LABEL_SELECTOR, POD_TEMPLATE, json_value, struct_value
from jobrelay.apimachinery.meta import IMMUTABLE, validate_object_meta_update
from jobrelay.kinds.batch.job.names import CONTROLLER_UID, JOB_NAME
from jobrelay.kinds.batch.job.policies import same_policy
from jobrelay.kinds.batch.job.status import validate_job_status_update
from jobrelay.kinds.batch.job.validation import Spec, validate_job, validate_job_spec
from jobrelay.kinds.generation import keep
from jobrelay.kinds.strategy import Obj

_SPEC: Final = Path("spec")
_BATCH: Final = "io.k8s.api.batch.v1."
_FIXED: Final = (
    ("completionMode", ""),
    ("podFailurePolicy", _BATCH + "PodFailurePolicy"),
    ("backoffLimitPerIndex", ""),
    ("managedBy", ""),
    ("successPolicy", _BATCH + "SuccessPolicy"),
)  # fmt: skip


def validate_job_update(new: Obj, old: Obj) -> list[FieldError]:
    """The checks of a create, then those against the stored Job. Errors of the spec are reported twice."""
    spec, old_spec = new["spec"], old["spec"]
    old_labels = old_spec["template"]["metadata"].get("labels") or {}
    spec_errors = validate_job_spec(spec, _SPEC)
    prefixed = JOB_NAME in old_labels and CONTROLLER_UID in old_labels
    errors = validate_job(new, prefixed_labels=prefixed, spec_errors=spec_errors)
    errors += validate_object_meta_update(new["metadata"], old["metadata"])
    errors += spec_errors
    errors += _completions(spec, old_spec)
    errors += _fixed("selector", LABEL_SELECTOR, spec, old_spec)
    errors += _template(spec, old)
    for name, type_name in _FIXED:
        errors += _fixed(name, type_name, spec, old_spec)
    return errors


def _fixed(name: str, type_name: str, spec: Spec, old_spec: Spec) -> list[FieldError]:
    value, before = spec.get(name), old_spec.get(name)
    if value == before or (name.endswith("Policy") and same_policy(value, before)):
        return []
    shown = struct_value(value, type_name) if type_name else json_value(value)
    return [invalid(_SPEC.child(name), shown, IMMUTABLE)]


def _completions(spec: Spec, old_spec: Spec) -> list[FieldError]:
    completions = spec.get("completions")
    if spec.get("completionMode") != "Indexed":
        return _fixed("completions", "", spec, old_spec)
    if completions is None or completions == old_spec.get("completions") or completions == spec["parallelism"]:
        return []
    return [invalid(_SPEC.child("completions"), completions, "can only be modified in tandem with spec.parallelism")]


def _template(spec: Spec, old: Obj) -> list[FieldError]:
    template, old_template = spec["template"], old["spec"]["template"]
    if template == old_template:
        return []
    if may_reschedule(old) and template == _with_directives_of(template, old_template):
        return []
    return [invalid(_SPEC.child("template"), struct_value(template, POD_TEMPLATE), IMMUTABLE)]


def may_reschedule(job: Obj) -> bool:
    """Whether the scheduling directives of the pod template may still change."""
    return bool(job["spec"].get("suspend")) and (job.get("status") or {}).get("startTime") is None


def _with_directives_of(template: dict[str, Any], old_template: dict[str, Any]) -> dict[str, Any]:
    """The old template with the new one's labels, annotations and scheduling directives."""
    pod, metadata = dict(old_template["spec"]), dict(old_template["metadata"])
    for name in ("nodeSelector", "tolerations", "schedulingGates"):
        keep(pod, template["spec"], name)
    for name in ("labels", "annotations"):
        keep(metadata, template["metadata"], name)
    affinity = _with_node_affinity_of(template["spec"].get("affinity"), pod.get("affinity"))
    if affinity is None:
        pod.pop("affinity", None)
    else:
        pod["affinity"] = affinity
    return {"metadata": metadata, "spec": pod}


def _with_node_affinity_of(new: dict[str, Any] | None, old: dict[str, Any] | None) -> dict[str, Any] | None:
    if new is None:
        rest = {name: value for name, value in (old or {}).items() if name != "nodeAffinity"}
        return rest or None
    merged = dict(old or {})
    keep(merged, new, "nodeAffinity")
    return merged


def validate_status_write(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    errors += validate_job_status_update(new, old)
    return errors
