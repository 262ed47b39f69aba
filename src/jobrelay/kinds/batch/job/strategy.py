"""How the server treats Jobs: what it generates, keeps, warns about, and by which fields they can be selected."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.field import Path, go_quote
from jobrelay.apimachinery.names import is_dns1123_label
from jobrelay.kinds.batch.job.defaults import default_job, own_labels, share_labels
from jobrelay.kinds.batch.job.names import CONTROLLER_UID, JOB_NAME, LEGACY_CONTROLLER_UID, LEGACY_JOB_NAME
from jobrelay.kinds.batch.job.policies import settle_policies, spec_changed
from jobrelay.kinds.batch.job.update import validate_job_update, validate_status_write
from jobrelay.kinds.batch.job.validation import LIMIT_FOR_MANY, MANY_COMPLETIONS, validate_job
from jobrelay.kinds.core.pod.defaults import drop_disabled_template_fields
from jobrelay.kinds.core.pod.warnings import pod_template_warnings
from jobrelay.kinds.generation import bump_generation, keep_spec, keep_status, start_generation
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy, metadata_fields

ORPHANS: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)
_MANY_INDEXES: Final = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes "
    "might not be able to track completedIndexes when a big number of indexes fail"
)


def _prepare_create(job: Obj) -> None:
    spec = job["spec"]
    if not spec.get("manualSelector"):
        _generate_selector(job)
    job["status"] = {}
    start_generation(job)
    drop_disabled_template_fields(spec["template"], None)
    own_labels(job)


def _canonicalize(job: Obj) -> None:
    """A Job that had no labels at all shows the generated ones, but only as it is stored: they are not validated."""
    share_labels(job)
    own_labels(job)
    settle_policies(job["spec"])


def _generate_selector(job: Obj) -> None:
    """Labels and a selector that only this Job's pods have. What the user set stays, and is judged in validation."""
    spec = job["spec"]
    name, uid = job["metadata"].get("name", ""), job["metadata"].get("uid", "")
    labels = spec["template"]["metadata"].setdefault("labels", {})
    for key, value in (
        (LEGACY_JOB_NAME, name), (JOB_NAME, name), (LEGACY_CONTROLLER_UID, uid), (CONTROLLER_UID, uid),
    ):  # fmt: skip
        labels.setdefault(key, value)
    selector = spec.setdefault("selector", {})
    selector.setdefault("matchLabels", {}).setdefault(CONTROLLER_UID, uid)


def _prepare_update(new: Obj, old: Obj) -> None:
    own_labels(new)
    keep_status(new, old)
    drop_disabled_template_fields(new["spec"]["template"], old["spec"]["template"])
    bump_generation(new, old, changed=spec_changed(new["spec"], old["spec"]))


def _prepare_status_update(new: Obj, old: Obj) -> None:
    own_labels(new)
    keep_spec(new, old)


def name_warnings(obj: Obj) -> list[str]:
    """Names that are fine for the object, but not for the pods that are named after it."""
    texts = is_dns1123_label(obj["metadata"].get("name", ""))
    if not texts:
        return []
    return [
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
        f"a DNS label is recommended: [{' '.join(texts)}]"
    ]


def spec_warnings(spec: dict[str, Any], path: Path, old: dict[str, Any] | None = None) -> list[str]:
    warnings = []
    many = spec.get("completions", 0) > MANY_COMPLETIONS and spec.get("parallelism", 0) > LIMIT_FOR_MANY
    if many and spec.get("completionMode") == "Indexed":
        warnings.append(f"{path}: {_MANY_INDEXES}")
    return warnings + pod_template_warnings(spec["template"], path.child("template"), old["template"] if old else None)


def _warn_create(job: Obj) -> list[str]:
    return name_warnings(job) + spec_warnings(job["spec"], Path("spec"))


def _warn_update(new: Obj, old: Obj) -> list[str]:
    if new["metadata"].get("generation") == old["metadata"].get("generation"):
        return []
    return spec_warnings(new["spec"], Path("spec"), old["spec"])


def _fields(job: Obj) -> dict[str, str]:
    return metadata_fields(job) | {"status.successful": str((job.get("status") or {}).get("succeeded", 0))}


JOB: Final = Strategy(
    default=default_job,
    prepare_create=_prepare_create,
    validate_create=validate_job,
    validates_metadata=True,
    warn_create=_warn_create,
    canonicalize=_canonicalize,
    late_labels=True,
    update=UpdateStrategy(prepare=_prepare_update, validate=validate_job_update, warn=_warn_update),
    subresources={"status": UpdateStrategy(prepare=_prepare_status_update, validate=validate_status_write)},
    fields=_fields,
    field_labels=frozenset({"metadata.name", "metadata.namespace", "status.successful"}),
    unsupported_field=lambda label, kind: f"field label {go_quote(label)} not supported for Job",
    default_propagation="Orphan",
    warn_delete=(ORPHANS,),
    reset_fields={"": (("status",),), "status": (("spec",),)},
)
STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {("batch", "jobs"): JOB}
