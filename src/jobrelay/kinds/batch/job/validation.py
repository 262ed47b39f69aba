"""What a Job must look like: the checks on create, and the checks on its spec that CronJobs share.

The order of the checks is the order in which clients see the errors.
"""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, invalid, not_supported, required, too_long
from jobrelay.apimachinery.gostruct import LABEL_SELECTOR, json_value, struct_value
from jobrelay.apimachinery.meta import validate_label_selector, validate_non_negative, validate_object_meta
from jobrelay.apimachinery.names import is_dns1123_label, is_domain_prefixed_path, name_is_dns_subdomain
from jobrelay.apimachinery.selectors import SelectorError, selector_from_object
from jobrelay.kinds.batch.job import policies
from jobrelay.kinds.batch.job.names import CONTROLLER_UID, JOB_NAME, LEGACY_CONTROLLER_UID, LEGACY_JOB_NAME
from jobrelay.kinds.core.pod.spec import validate_pod_template_spec
from jobrelay.kinds.strategy import Obj

MAX_MANAGED_BY: Final = 63
MAX_INDEXED_PARALLELISM: Final = 100_000
MAX_FAILED_INDEXES: Final = 100_000
MANY_COMPLETIONS: Final = 100_000
LIMIT_FOR_MANY: Final = 10_000

_SPEC: Final = Path("spec")
_MANAGED_BY: Final = _SPEC.child("managedBy")
_COUNTS: Final = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
    "backoffLimitPerIndex", "maxFailedIndexes",
)  # fmt: skip
Spec = dict[str, Any]


def validate_job(
    job: Obj, *, prefixed_labels: bool = True, spec_errors: list[FieldError] | None = None
) -> list[FieldError]:
    """All checks of a create. `spec_errors` may be given by a caller that needs them itself."""
    errors = validate_object_meta(job["metadata"], namespaced=True, name_fn=name_is_dns_subdomain)
    errors += _generated_selector(job, prefixed_labels)
    errors += validate_job_spec(job["spec"], _SPEC) if spec_errors is None else spec_errors
    errors += _hostname(job)
    return errors


def _generated_selector(job: Obj, prefixed_labels: bool) -> list[FieldError]:
    """Unless the user takes care of them, the selector and the template's labels are those that the server makes."""
    spec = job["spec"]
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return []
    name, uid = job["metadata"].get("name", ""), job["metadata"].get("uid", "")
    errors = [] if uid else [required(Path("metadata.uid"))]
    expected = {LEGACY_CONTROLLER_UID: uid, LEGACY_JOB_NAME: name}
    if prefixed_labels:
        expected |= {CONTROLLER_UID: uid, JOB_NAME: name}
    labels = spec["template"]["metadata"].get("labels")
    for key, value in expected.items():
        errors += _has_label(labels or {}, key, value)
    if _matches(selector, expected) is False:
        shown = struct_value(selector, LABEL_SELECTOR)
        errors.append(invalid(_SPEC.child("selector"), shown, "`selector` not auto-generated"))
    return errors


def _has_label(labels: dict[str, str], key: str, value: str) -> list[FieldError]:
    if labels.get(key) == value:
        return []
    path = _SPEC.child("template", "metadata", "labels").key(key)
    return [invalid(path, labels, f"must be '{value}'") if key in labels else required(path, f"must be '{value}'")]


def _matches(selector: dict[str, Any] | None, labels: dict[str, str]) -> bool | None:
    """Whether labels are selected; None when the selector itself is wrong."""
    if selector is None:
        return False
    if not selector.get("matchExpressions"):
        wanted = selector.get("matchLabels") or {}
        if all(labels.get(key) == value for key, value in wanted.items()):
            return True
    try:
        return selector_from_object(selector).matches(labels)
    except SelectorError:
        return None


def _hostname(job: Obj) -> list[FieldError]:
    """The last pod of an Indexed Job is named after its index, and that must be a hostname."""
    spec, name = job["spec"], job["metadata"].get("name", "")
    completions = spec.get("completions", 0)
    if spec.get("completionMode") != "Indexed" or completions <= 0:
        return []
    hostname = f"{name}-{completions - 1}"
    if not is_dns1123_label(hostname):
        return []
    return [invalid(Path("metadata.name"), name, f"will not able to create pod with invalid DNS label: {hostname}")]


def validate_job_spec(spec: Spec, path: Path) -> list[FieldError]:
    errors = validate_unselected_job_spec(spec, path)
    selector = spec.get("selector")
    if selector is None:
        errors.append(required(path.child("selector")))
    else:
        errors += validate_label_selector(selector, path.child("selector"))
    labels = spec["template"]["metadata"].get("labels")
    if _matches(selector, labels or {}) is False:
        place = path.child("template", "metadata", "labels")
        errors.append(invalid(place, labels, "`selector` does not match template `labels`"))
    return errors


def validate_unselected_job_spec(spec: Spec, path: Path) -> list[FieldError]:
    """The checks that also hold for the Job template of a CronJob, which has no selector yet."""
    errors: list[FieldError] = []
    for name in _COUNTS:
        if spec.get(name, 0) < 0:
            errors += validate_non_negative(spec[name], path.child(name))
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        errors.append(required(path.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified"))
    if "managedBy" in spec:
        errors += managed_by_errors(spec["managedBy"], path.child("managedBy"))
    errors += _completion_mode(spec, path)
    if "podFailurePolicy" in spec:
        errors += policies.validate_failure_policy(spec, path.child("podFailurePolicy"))
    if "successPolicy" in spec:
        errors += _success_policy(spec, path.child("successPolicy"))
    errors += policies.validate_replacement_policy(spec, path)
    errors += validate_pod_template_spec(spec["template"], path.child("template"))
    errors += _restart_policy(spec, path)
    return errors


def managed_by_errors(value: str, path: Path = _MANAGED_BY) -> list[FieldError]:
    """What is wrong with the name of a controller, such as `example.com/controller`."""
    errors = is_domain_prefixed_path(path, value)
    if len(value.encode()) > MAX_MANAGED_BY:
        errors.append(too_long(path, MAX_MANAGED_BY))
    return errors


def _completion_mode(spec: Spec, path: Path) -> list[FieldError]:
    mode = spec.get("completionMode", "NonIndexed")
    if mode == "Indexed":
        return _indexed(spec, path)
    if mode != "NonIndexed":
        return [not_supported(path.child("completionMode"), json_value(mode), ("NonIndexed", "Indexed"))]
    fields = [name for name in ("backoffLimitPerIndex", "maxFailedIndexes") if name in spec]
    return [invalid(path.child(name), spec[name], "requires indexed completion mode") for name in fields]


def _indexed(spec: Spec, path: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    completions, parallelism = spec.get("completions"), spec.get("parallelism", 0)
    max_failed = spec.get("maxFailedIndexes")
    at_most = "must be less than or equal to"
    if completions is None:
        errors.append(required(path.child("completions"), "when completion mode is Indexed"))
    if parallelism > MAX_INDEXED_PARALLELISM:
        text = f"{at_most} {MAX_INDEXED_PARALLELISM} when completion mode is Indexed"
        errors.append(invalid(path.child("parallelism"), parallelism, text))
    if max_failed is not None and completions is not None and max_failed > completions:
        errors.append(invalid(path.child("maxFailedIndexes"), max_failed, f"{at_most} completions"))
    if max_failed is not None and max_failed > MAX_FAILED_INDEXES:
        errors.append(invalid(path.child("maxFailedIndexes"), max_failed, f"{at_most} {MAX_FAILED_INDEXES}"))
    if completions is not None and completions > MANY_COMPLETIONS and "backoffLimitPerIndex" in spec:
        errors += _many_completions(parallelism, max_failed, path)
    return errors


def _many_completions(parallelism: int, max_failed: int | None, path: Path) -> list[FieldError]:
    text = (
        f"must be less than or equal to {LIMIT_FOR_MANY} when completions are above {MANY_COMPLETIONS} "
        "and used with backoff limit per index"
    )
    errors: list[FieldError] = []
    if max_failed is None:
        missing = f"must be specified when completions is above {MANY_COMPLETIONS}"
        errors.append(required(path.child("maxFailedIndexes"), missing))
    if parallelism > LIMIT_FOR_MANY:
        errors.append(invalid(path.child("parallelism"), parallelism, text))
    if max_failed is not None and max_failed > LIMIT_FOR_MANY:
        errors.append(invalid(path.child("maxFailedIndexes"), max_failed, text))
    return errors


def _success_policy(spec: Spec, path: Path) -> list[FieldError]:
    if spec.get("completionMode") == "Indexed":
        return policies.validate_success_policy(spec, path)
    shown = struct_value(spec["successPolicy"], "io.k8s.api.batch.v1.SuccessPolicy")
    return [invalid(path, shown, "requires indexed completion mode")]


def _restart_policy(spec: Spec, path: Path) -> list[FieldError]:
    policy = spec["template"]["spec"].get("restartPolicy", "")
    if policy == "Never" or (policy == "OnFailure" and "podFailurePolicy" not in spec):
        return []
    path = path.child("template", "spec", "restartPolicy")
    if policy in ("", "Always"):
        return [required(path, 'valid values: "OnFailure", "Never"')]
    if policy == "OnFailure":
        return [invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return [not_supported(path, policy, ("OnFailure", "Never"))]
