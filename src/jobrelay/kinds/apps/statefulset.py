"""apps/v1 StatefulSets."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery import meta
from jobrelay.apimachinery.field import FieldError, Path, forbidden, invalid, one_of
from jobrelay.apimachinery.gostruct import LABEL_SELECTOR, struct_value
from jobrelay.apimachinery.names import is_dns1123_label, name_is_dns_label
from jobrelay.apimachinery.selectors import SelectorError, selector_from_object
from jobrelay.kinds.apps import common
from jobrelay.kinds.apps.replicaset import prepare_update
from jobrelay.kinds.core.claims import claim_spec_warnings, default_claim_spec, validate_claim_spec
from jobrelay.kinds.core.pod.defaults import default_pod_template
from jobrelay.kinds.core.pod.spec import validate_pod_template_spec
from jobrelay.kinds.generation import keep_spec
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

_COUNTERS: Final = (
    "replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas", "observedGeneration",
    "collisionCount",
)  # fmt: skip
_MUTABLE: Final = (
    "replicas", "template", "updateStrategy", "minReadySeconds", "ordinals", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
)  # fmt: skip
_FORBIDDEN: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_KEEPS_ALL: Final = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
)


def default_stateful_set(stateful_set: Obj) -> None:
    spec = stateful_set["spec"]
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec["updateStrategy"]
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
    policy = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    policy.setdefault("whenDeleted", "Retain")
    policy.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    default_pod_template(spec["template"])
    for claim in spec.get("volumeClaimTemplates") or ():
        claim |= {"kind": "PersistentVolumeClaim", "apiVersion": "v1"}
        claim["status"].setdefault("phase", "Pending")
        default_claim_spec(claim["spec"])


def _drop_disabled(spec: common.Spec, old: common.Spec | None) -> None:
    """`maxUnavailable` is behind a switch that is off; objects that have it keep it."""
    rolling = spec["updateStrategy"].get("rollingUpdate")
    before = (old["updateStrategy"].get("rollingUpdate") if old else None) or {}
    if rolling is not None and "maxUnavailable" not in before:
        rolling.pop("maxUnavailable", None)


def _prepare_create(stateful_set: Obj) -> None:
    _drop_disabled(stateful_set["spec"], None)
    common.prepare_create(stateful_set, "StatefulSet")


def _prepare_update(new: Obj, old: Obj) -> None:
    _drop_disabled(new["spec"], old["spec"])
    prepare_update(new, old)


def _validate_create(stateful_set: Obj) -> list[FieldError]:
    errors = meta.validate_object_meta(stateful_set["metadata"], namespaced=True, name_fn=name_is_dns_label)
    return errors + _spec_errors(stateful_set["spec"])


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    spec, old_spec = new["spec"], old["spec"]
    errors = meta.validate_object_meta_update(new["metadata"], old["metadata"])
    old_is_wrong = bool(_spec_errors(old_spec, update=True))
    errors += _spec_errors(spec, update=True, any_template=old_is_wrong)
    fixed = {name: value for name, value in spec.items() if name not in _MUTABLE}
    if fixed != {name: value for name, value in old_spec.items() if name not in _MUTABLE}:
        errors.append(forbidden(common.SPEC, _FORBIDDEN))
    return errors


def _spec_errors(spec: common.Spec, *, update: bool = False, any_template: bool = False) -> list[FieldError]:
    errors = _policy_errors(spec)
    for i, claim in enumerate(spec.get("volumeClaimTemplates") or () if not update else ()):
        errors += validate_claim_spec(claim["spec"], common.SPEC.child("volumeClaimTemplates").index(i).child("spec"))
    errors += meta.validate_non_negative(spec["replicas"], common.SPEC.child("replicas"))
    errors += meta.validate_non_negative(spec.get("minReadySeconds", 0), common.SPEC.child("minReadySeconds"))
    if "ordinals" in spec:
        errors += meta.validate_non_negative(spec["ordinals"].get("start", 0), common.SPEC.child("ordinals.start"))
    service = spec.get("serviceName", "")
    if service and not update:
        errors += [invalid(common.SPEC.child("serviceName"), service, text) for text in is_dns1123_label(service)]
    errors += common.selector_errors(spec, "statefulset")
    errors += _template_errors(spec, any_template)
    return errors + common.long_running_errors(spec["template"]["spec"], "StatefulSet")


def _policy_errors(spec: common.Spec) -> list[FieldError]:
    errors: list[FieldError] = []
    management = spec["podManagementPolicy"]
    if management not in ("OrderedReady", "Parallel"):
        detail = "must be 'OrderedReady' or 'Parallel'"
        errors.append(invalid(common.SPEC.child("podManagementPolicy"), management, detail))
    errors += _strategy_errors(spec["updateStrategy"], common.SPEC.child("updateStrategy"))
    policy, path = (
        spec["persistentVolumeClaimRetentionPolicy"],
        common.SPEC.child("persistentVolumeClaimRetentionPolicy"),
    )
    for name in ("whenDeleted", "whenScaled"):
        errors += one_of(path.child(name), policy[name], ("Retain", "Delete"))
    return errors


def _strategy_errors(strategy: dict[str, Any], path: Path) -> list[FieldError]:
    rolling = strategy.get("rollingUpdate")
    if strategy["type"] == "RollingUpdate":
        partition = (rolling or {}).get("partition", 0)
        return meta.validate_non_negative(partition, path.child("rollingUpdate", "partition"))
    if strategy["type"] != "OnDelete":
        shown = struct_value(strategy, common.APPS + "StatefulSetUpdateStrategy")
        return [invalid(path, shown, "must be 'RollingUpdate' or 'OnDelete'")]
    if rolling is None:
        return []
    shown = struct_value(rolling, common.APPS + "RollingUpdateStatefulSetStrategy")
    return [invalid(path.child("rollingUpdate"), shown, "only allowed for updateStrategy 'RollingUpdate'")]


def _template_errors(spec: common.Spec, any_template: bool) -> list[FieldError]:
    try:
        selector = selector_from_object(spec.get("selector"))
    except SelectorError:
        return [invalid(common.SPEC.child("selector"), struct_value(spec["selector"], LABEL_SELECTOR), "")]
    errors = common.unmatched_labels(spec, selector)
    if not any_template:
        errors += validate_pod_template_spec(_as_run(spec), common.TEMPLATE)
    metadata = spec["template"]["metadata"]
    errors += meta.validate_labels(metadata.get("labels"), common.TEMPLATE.child("labels"))
    return errors + meta.validate_annotations(metadata.get("annotations"), common.TEMPLATE.child("annotations"))


def _as_run(spec: common.Spec) -> dict[str, Any]:
    """The template as its pods will have it: the controller sets hostnames and adds a volume per claim."""
    template: dict[str, Any] = spec["template"]
    claims = [claim["metadata"].get("name", "") for claim in spec.get("volumeClaimTemplates") or ()]
    pod = template["spec"]
    if not claims and "hostname" not in pod and "subdomain" not in pod:
        return template
    pod = {name: value for name, value in pod.items() if name not in ("hostname", "subdomain")}
    if claims:
        own = [volume for volume in pod.get("volumes") or () if volume["name"] not in claims]
        added = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(claims)]
        pod["volumes"] = added + own
    return {**template, "spec": pod}


def _validate_status(new: Obj, old: Obj) -> list[FieldError]:
    status = new["status"]
    errors = common.counter_errors(status, _COUNTERS)
    for name in ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"):
        errors += common.not_above(status, name, "replicas", common.AGAINST_REPLICAS)
    errors += common.not_above(
        status, "availableReplicas", "readyReplicas", "cannot be greater than status.readyReplicas"
    )
    errors += meta.validate_object_meta_update(new["metadata"], old["metadata"])
    return errors + common.decremented(new, old)


def _claim_warnings(stateful_set: Obj, *child: str) -> list[str]:
    warnings: list[str] = []
    spec = stateful_set["spec"]
    for i, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        warnings += claim_spec_warnings(claim["spec"], common.SPEC.child("volumeClaimTemplates").index(i).child(*child))
    if spec["revisionHistoryLimit"] < 0:
        warnings.append(_KEEPS_ALL)
    return warnings


_UPDATE: Final = UpdateStrategy(
    prepare=_prepare_update,
    validate=_validate_update,
    warn=lambda new, old: common.changed_template_warnings(new, old) + _claim_warnings(new, "Spec"),
)
STRATEGIES: Final = {
    ("apps", "statefulsets"): Strategy(
        default=default_stateful_set,
        prepare_create=_prepare_create,
        validate_create=_validate_create,
        warn_create=lambda obj: common.template_warnings(obj) + _claim_warnings(obj),
        update=_UPDATE,
        subresources={"scale": _UPDATE, "status": UpdateStrategy(prepare=keep_spec, validate=_validate_status)},
        reset_fields=common.RESET,
    )
}
