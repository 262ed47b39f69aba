"""apps/v1 Deployments."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.decode import DecodeError
from jobrelay.apimachinery.field import FieldError, Path, forbidden, go_quote, invalid, not_supported, required
from jobrelay.apimachinery.goint import read_int
from jobrelay.apimachinery.gostruct import struct_value
from jobrelay.apimachinery.meta import validate_non_negative, validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import name_is_dns_subdomain
from jobrelay.kinds.apps import common
from jobrelay.kinds.batch.job.strategy import name_warnings
from jobrelay.kinds.core.pod.defaults import default_pod_template, drop_disabled_template_fields
from jobrelay.kinds.generation import bump_generation, keep, keep_spec, keep_status
from jobrelay.kinds.hidden import ROLLBACK_TO
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

_COUNTERS: Final = (
    "observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas",
    "terminatingReplicas", "collisionCount",
)  # fmt: skip


def default_deployment(deployment: Obj) -> None:
    spec = deployment["spec"]
    spec.setdefault("replicas", 1)
    strategy = spec["strategy"]
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    elif "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("maxUnavailable", 0)
        strategy["rollingUpdate"].setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    default_pod_template(spec["template"])
    _normalize_rollback(deployment["metadata"])


def parse_int64(text: str) -> int:
    """A number in an annotation, read as Go's ParseInt does."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        raise DecodeError(f"strconv.ParseInt: parsing {go_quote(text)}: invalid syntax")
    if not -(2**63) <= (value := read_int(text)) < 2**63:
        raise DecodeError(f"strconv.ParseInt: parsing {go_quote(text)}: value out of range")
    return value


def _normalize_rollback(metadata: dict[str, Any]) -> None:
    """The annotation holds a number of the old API, and is removed when that is not set."""
    annotations = metadata.get("annotations") or {}
    if ROLLBACK_TO not in annotations:
        return
    text = annotations.pop(ROLLBACK_TO)
    if text:
        try:
            annotations[ROLLBACK_TO] = str(parse_int64(text))
        except DecodeError as error:
            raise DecodeError(f"failed to parse annotation[{ROLLBACK_TO}]={text} as int64: {error}") from None
    elif not annotations:
        del metadata["annotations"]


def _prepare_update(new: Obj, old: Obj) -> None:
    keep_status(new, old)
    drop_disabled_template_fields(new["spec"]["template"], old["spec"]["template"])
    annotations, before = new["metadata"].get("annotations"), old["metadata"].get("annotations")
    bump_generation(new, old, changed=new["spec"] != old["spec"] or (annotations or {}) != (before or {}))


def _prepare_status(new: Obj, old: Obj) -> None:
    keep_spec(new, old)
    keep(new["metadata"], old["metadata"], "labels")


def _validate_create(deployment: Obj) -> list[FieldError]:
    errors = validate_object_meta(deployment["metadata"], namespaced=True, name_fn=name_is_dns_subdomain)
    return errors + _spec_errors(deployment)


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    errors += _spec_errors(new)
    return errors + common.immutable_selector(new["spec"], old["spec"])


def _spec_errors(deployment: Obj) -> list[FieldError]:
    spec = deployment["spec"]
    errors = validate_non_negative(spec["replicas"], common.SPEC.child("replicas"))
    errors += common.selector_errors(spec, "deployment")
    errors += common.template_errors(spec, wrong_selector="invalid label selector")
    errors += _strategy_errors(spec["strategy"], common.SPEC.child("strategy"))
    errors += validate_non_negative(spec.get("minReadySeconds", 0), common.SPEC.child("minReadySeconds"))
    errors += validate_non_negative(spec["revisionHistoryLimit"], common.SPEC.child("revisionHistoryLimit"))
    rollback = (deployment["metadata"].get("annotations") or {}).get(ROLLBACK_TO)
    if rollback is not None:
        errors += validate_non_negative(int(rollback), common.SPEC.child("rollback", "version"))
    return errors + _deadline_errors(spec)


def _deadline_errors(spec: common.Spec) -> list[FieldError]:
    deadline, path = spec["progressDeadlineSeconds"], common.SPEC.child("progressDeadlineSeconds")
    errors = validate_non_negative(deadline, path)
    if deadline <= spec.get("minReadySeconds", 0):
        errors.append(invalid(path, deadline, "must be greater than minReadySeconds"))
    return errors


def _strategy_errors(strategy: dict[str, Any], path: Path) -> list[FieldError]:
    rolling = strategy.get("rollingUpdate")
    if strategy["type"] == "Recreate":
        text = "may not be specified when strategy `type` is 'Recreate'"
        return [] if rolling is None else [forbidden(path.child("rollingUpdate"), text)]
    if strategy["type"] != "RollingUpdate":
        shown = struct_value(strategy, common.APPS + "DeploymentStrategy")
        return [not_supported(path, shown, ("Recreate", "RollingUpdate"))]
    if rolling is None:
        return [required(path.child("rollingUpdate"), "this should be defaulted and never be nil")]
    return _rolling_errors(rolling, path.child("rollingUpdate"))


def _rolling_errors(rolling: dict[str, Any], path: Path) -> list[FieldError]:
    unavailable, surge = rolling["maxUnavailable"], rolling["maxSurge"]
    place = path.child("maxUnavailable")
    errors = common.int_or_percent_errors(unavailable, place)
    errors += common.int_or_percent_errors(surge, path.child("maxSurge"))
    if common.int_or_percent(unavailable) == 0 and common.int_or_percent(surge) == 0:
        errors.append(invalid(place, unavailable, "may not be 0 when `maxSurge` is 0"))
    return errors + common.above_100_percent(unavailable, place)


def _validate_status(new: Obj, old: Obj) -> list[FieldError]:
    status = new["status"]
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    errors += common.counter_errors(status, _COUNTERS)
    for name in ("updatedReplicas", "readyReplicas", "availableReplicas"):
        errors += common.not_above(status, name, "replicas", common.AGAINST_REPLICAS)
    errors += common.not_above(status, "availableReplicas", "readyReplicas", "cannot be greater than readyReplicas")
    return errors + common.decremented(new, old)


_UPDATE: Final = UpdateStrategy(
    prepare=_prepare_update, validate=_validate_update, warn=common.changed_template_warnings
)
STRATEGIES: Final = {
    ("apps", "deployments"): Strategy(
        default=default_deployment,
        prepare_create=lambda obj: common.prepare_create(obj, "Deployment"),
        validate_create=_validate_create,
        warn_create=lambda obj: name_warnings(obj) + common.template_warnings(obj),
        update=_UPDATE,
        subresources={"scale": _UPDATE, "status": UpdateStrategy(prepare=_prepare_status, validate=_validate_status)},
        reset_fields={"": (("status",),), "status": (("spec",), ("metadata", "labels"))},
    )
}
