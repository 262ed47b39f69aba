"""apps/v1 ReplicaSets."""

from __future__ import annotations

from typing import Final

from jobrelay.apimachinery.field import FieldError
from jobrelay.apimachinery.meta import validate_non_negative, validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import name_is_dns_subdomain
from jobrelay.kinds.apps import common
from jobrelay.kinds.batch.job.strategy import name_warnings
from jobrelay.kinds.core.pod.defaults import default_pod_template, drop_disabled_template_fields
from jobrelay.kinds.generation import count_spec_changes, keep_spec, keep_status
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

_COUNTERS: Final = (
    "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration",
    "terminatingReplicas",
)  # fmt: skip


def default_replica_set(replica_set: Obj) -> None:
    replica_set["spec"].setdefault("replicas", 1)
    default_pod_template(replica_set["spec"]["template"])


def prepare_update(new: Obj, old: Obj) -> None:
    keep_status(new, old)
    drop_disabled_template_fields(new["spec"]["template"], old["spec"]["template"])
    count_spec_changes(new, old)


def _validate_create(replica_set: Obj) -> list[FieldError]:
    errors = validate_object_meta(replica_set["metadata"], namespaced=True, name_fn=name_is_dns_subdomain)
    return errors + _spec_errors(replica_set["spec"])


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    errors += _spec_errors(new["spec"])
    return errors + common.immutable_selector(new["spec"], old["spec"])


def _spec_errors(spec: common.Spec) -> list[FieldError]:
    errors = validate_non_negative(spec["replicas"], common.SPEC.child("replicas"))
    errors += validate_non_negative(spec.get("minReadySeconds", 0), common.SPEC.child("minReadySeconds"))
    errors += common.selector_errors(spec, "deployment")
    return errors + common.template_errors(spec, wrong_selector="invalid label selector")


def _validate_status(new: Obj, old: Obj) -> list[FieldError]:
    status = new["status"]
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    errors += common.counter_errors(status, _COUNTERS)
    for name in ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"):
        errors += common.not_above(status, name, "replicas", common.AGAINST_REPLICAS)
    return errors + common.not_above(
        status, "availableReplicas", "readyReplicas", "cannot be greater than readyReplicas"
    )


_UPDATE: Final = UpdateStrategy(
    prepare=prepare_update, validate=_validate_update, warn=common.changed_template_warnings
)
STRATEGIES: Final = {
    ("apps", "replicasets"): Strategy(
        default=default_replica_set,
        prepare_create=lambda obj: common.prepare_create(obj, "ReplicaSet"),
        validate_create=_validate_create,
        warn_create=lambda obj: name_warnings(obj) + common.template_warnings(obj),
        update=_UPDATE,
        subresources={"scale": _UPDATE, "status": UpdateStrategy(prepare=keep_spec, validate=_validate_status)},
        reset_fields=common.RESET,
    )
}
