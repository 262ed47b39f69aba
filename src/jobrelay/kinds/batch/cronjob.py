"""batch/v1 CronJobs: a schedule and a template of Jobs."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.cron import ScheduleError, check_schedule, is_zone_name, zone_problem
from jobrelay.apimachinery.field import FieldError, Path, invalid, not_supported, one_of, required
from jobrelay.apimachinery.gostruct import LABEL_SELECTOR, json_value, struct_value
from jobrelay.apimachinery.meta import validate_non_negative, validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import name_is_dns_subdomain
from jobrelay.kinds.batch.job.defaults import default_policy_conditions
from jobrelay.kinds.batch.job.policies import settle_policies
from jobrelay.kinds.batch.job.strategy import name_warnings, spec_warnings
from jobrelay.kinds.batch.job.validation import validate_unselected_job_spec
from jobrelay.kinds.core.pod.defaults import default_pod_template, drop_disabled_template_fields
from jobrelay.kinds.generation import count_spec_changes, keep_spec, keep_status, start_generation
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

POLICIES: Final = ("Allow", "Forbid", "Replace")
MAX_NAME: Final = 52
_SPEC: Final = Path("spec")
_JOB_SPEC: Final = _SPEC.child("jobTemplate", "spec")
Spec = dict[str, Any]


def default_cron_job(cron_job: Obj) -> None:
    spec = cron_job["spec"]
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    default_policy_conditions(spec["jobTemplate"]["spec"])
    default_pod_template(spec["jobTemplate"]["spec"]["template"])


def _template(cron_job: Obj) -> dict[str, Any]:
    template: dict[str, Any] = cron_job["spec"]["jobTemplate"]["spec"]["template"]
    return template


def _prepare_create(cron_job: Obj) -> None:
    cron_job["status"] = {}
    start_generation(cron_job)
    drop_disabled_template_fields(_template(cron_job), None)


def _prepare_update(new: Obj, old: Obj) -> None:
    keep_status(new, old)
    drop_disabled_template_fields(_template(new), _template(old))
    settle_policies(new["spec"]["jobTemplate"]["spec"])
    count_spec_changes(new, old)


def _validate_create(cron_job: Obj) -> list[FieldError]:
    name = cron_job["metadata"].get("name", "")
    errors = validate_object_meta(cron_job["metadata"], namespaced=True, name_fn=name_is_dns_subdomain)
    errors += _spec_errors(cron_job["spec"], None)
    if len(name.encode()) > MAX_NAME:
        errors.append(invalid(Path("metadata.name"), name, f"must be no more than {MAX_NAME} characters"))
    return errors


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    return errors + _spec_errors(new["spec"], old["spec"])


def _spec_errors(spec: Spec, old: Spec | None) -> list[FieldError]:
    errors: list[FieldError] = []
    if spec["schedule"]:
        errors += _schedule_errors(spec, zone_allowed=old is not None and "TZ" in old["schedule"])
    else:
        errors.append(required(_SPEC.child("schedule")))
    errors += validate_non_negative(spec.get("startingDeadlineSeconds", 0), _SPEC.child("startingDeadlineSeconds"))
    if "timeZone" in spec and (old is None or old.get("timeZone") != spec["timeZone"]):
        errors += _zone_errors(spec["timeZone"], _SPEC.child("timeZone"))
    errors += one_of(_SPEC.child("concurrencyPolicy"), spec["concurrencyPolicy"], POLICIES)
    errors += _job_template_errors(spec["jobTemplate"]["spec"])
    for name in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        errors += validate_non_negative(spec.get(name, 0), _SPEC.child(name))
    return errors


def _schedule_errors(spec: Spec, *, zone_allowed: bool) -> list[FieldError]:
    schedule, path = spec["schedule"], _SPEC.child("schedule")
    errors: list[FieldError] = []
    try:
        check_schedule(schedule)
    except ScheduleError as error:
        errors.append(invalid(path, schedule, str(error)))
    if "TZ" in schedule and not zone_allowed:
        text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        errors.append(invalid(path, schedule, text))
    elif "TZ" in schedule and "timeZone" in spec:
        errors.append(invalid(path, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"))
    return errors


def _zone_errors(zone: str, path: Path) -> list[FieldError]:
    shown = json_value(zone)
    if not zone:
        return [invalid(path, shown, "timeZone must be nil or non-empty string")]
    if not is_zone_name(zone):
        return [invalid(path, shown, f"unknown time zone {zone}")]
    errors: list[FieldError] = []
    if zone.lower() == "local":
        text = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        errors.append(invalid(path, shown, text))
    if problem := zone_problem(zone):
        errors.append(invalid(path, shown, problem))
    return errors


def _job_template_errors(spec: Spec) -> list[FieldError]:
    errors = validate_unselected_job_spec(spec, _JOB_SPEC)
    if "selector" in spec:
        shown = struct_value(spec["selector"], LABEL_SELECTOR)
        errors.append(invalid(_JOB_SPEC.child("selector"), shown, "`selector` will be auto-generated"))
    if spec.get("manualSelector"):
        errors.append(not_supported(_JOB_SPEC.child("manualSelector"), True, ("nil", "false")))
    return errors


def _warn_create(cron_job: Obj) -> list[str]:
    return name_warnings(cron_job) + spec_warnings(cron_job["spec"]["jobTemplate"]["spec"], _JOB_SPEC)


def _warn_update(new: Obj, old: Obj) -> list[str]:
    warnings: list[str] = []
    if new["metadata"].get("generation") != old["metadata"].get("generation"):
        warnings = spec_warnings(new["spec"]["jobTemplate"]["spec"], _JOB_SPEC, old["spec"]["jobTemplate"]["spec"])
    if "TZ" in new["spec"]["schedule"]:
        warnings.append(
            "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
            "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
        )
    return warnings


CRON_JOB: Final = Strategy(
    default=default_cron_job,
    prepare_create=_prepare_create,
    validate_create=_validate_create,
    warn_create=_warn_create,
    canonicalize=lambda cron_job: settle_policies(cron_job["spec"]["jobTemplate"]["spec"]),
    update=UpdateStrategy(prepare=_prepare_update, validate=_validate_update, warn=_warn_update),
    subresources={"status": UpdateStrategy(prepare=keep_spec)},
    reset_fields={"": (("status",),), "status": (("spec",),)},
)
STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {("batch", "cronjobs"): CRON_JOB}
