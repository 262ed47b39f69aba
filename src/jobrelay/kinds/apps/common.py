"""What the kinds of apps/v1 share: selectors against pod templates, rolling update limits, counters, warnings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from jobrelay.apimachinery.decode import zero
from jobrelay.apimachinery.field import FieldError, Path, forbidden, invalid, not_supported, required
from jobrelay.apimachinery.goint import read_int
from jobrelay.apimachinery.gostruct import LABEL_SELECTOR, struct_value
from jobrelay.apimachinery.meta import IMMUTABLE, validate_label_selector, validate_non_negative
from jobrelay.apimachinery.names import is_valid_percent
from jobrelay.apimachinery.selectors import Selector, SelectorError, selector_from_object
from jobrelay.apimachinery.types import type_of
from jobrelay.kinds.core.pod.defaults import drop_disabled_template_fields
from jobrelay.kinds.core.pod.spec import validate_pod_template_spec
from jobrelay.kinds.core.pod.warnings import pod_template_warnings
from jobrelay.kinds.generation import start_generation
from jobrelay.kinds.strategy import Obj

APPS: Final = "io.k8s.api.apps.v1."
SPEC: Final = Path("spec")
STATUS: Final = Path("status")
TEMPLATE: Final = SPEC.child("template")
NO_MATCH: Final = "`selector` does not match template `labels`"
AGAINST_REPLICAS: Final = "cannot be greater than status.replicas"
RESET: Final = {"": (("status",),), "status": (("spec",),)}
Spec = dict[str, Any]


def empty_status(kind: str) -> dict[str, Any]:
    """The status of a new object, with the counters that show even when they are 0."""
    status: dict[str, Any] = zero(type_of(f"{APPS}{kind}Status"))
    return status


def prepare_create(obj: Obj, kind: str) -> None:
    obj["status"] = empty_status(kind)
    start_generation(obj)
    drop_disabled_template_fields(obj["spec"]["template"], None)


def template_warnings(obj: Obj) -> list[str]:
    return pod_template_warnings(obj["spec"]["template"], TEMPLATE)


def changed_template_warnings(new: Obj, old: Obj) -> list[str]:
    if new["metadata"].get("generation") == old["metadata"].get("generation"):
        return []
    return pod_template_warnings(new["spec"]["template"], TEMPLATE, old["spec"]["template"])


def selector_errors(spec: Spec, what: str) -> list[FieldError]:
    """A selector must be there, well-formed, and select something."""
    selector, path = spec.get("selector"), SPEC.child("selector")
    if selector is None:
        return [required(path)]
    errors = validate_label_selector(selector, path)
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(invalid(path, struct_value(selector, LABEL_SELECTOR), f"empty selector is invalid for {what}"))
    return errors


def template_errors(spec: Spec, *, wrong_selector: str) -> list[FieldError]:
    """Validates the pod template of a kind whose pods always restart and whose selector must match them."""
    try:
        selector = selector_from_object(spec.get("selector"))
    except SelectorError:
        return [invalid(SPEC.child("selector"), struct_value(spec["selector"], LABEL_SELECTOR), wrong_selector)]
    template = spec["template"]
    errors = unmatched_labels(spec, selector)
    errors += validate_pod_template_spec(template, TEMPLATE)
    return errors + long_running_errors(template["spec"], "ReplicaSet")


def unmatched_labels(spec: Spec, selector: Selector) -> list[FieldError]:
    wanted = spec.get("selector")
    if wanted is not None and not wanted.get("matchLabels") and not wanted.get("matchExpressions"):
        return []
    labels = spec["template"]["metadata"].get("labels")
    if wanted is not None and selector.matches(labels or {}):
        return []
    return [invalid(TEMPLATE.child("metadata", "labels"), labels, NO_MATCH)]


def long_running_errors(pod: dict[str, Any], kind: str) -> list[FieldError]:
    errors: list[FieldError] = []
    path = TEMPLATE.child("spec")
    policy = pod.get("restartPolicy", "")
    if policy != "Always":
        errors.append(not_supported(path.child("restartPolicy"), policy, ("Always",)))
    if "activeDeadlineSeconds" in pod:
        text = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(forbidden(path.child("activeDeadlineSeconds"), text))
    return errors


def immutable_selector(spec: Spec, old_spec: Spec) -> list[FieldError]:
    selector = spec.get("selector")
    if selector == old_spec.get("selector"):
        return []
    return [invalid(SPEC.child("selector"), struct_value(selector, LABEL_SELECTOR), IMMUTABLE)]


def int_or_percent_errors(value: int | str, path: Path) -> list[FieldError]:
    if isinstance(value, str):
        return [invalid(path, value, text) for text in is_valid_percent(value)]
    return validate_non_negative(value, path)


def int_or_percent(value: int | str) -> int:
    """The number of an amount; texts that are neither a percentage nor a number count as 0."""
    if isinstance(value, int):
        return value
    digits = value.removesuffix("%")
    return read_int(digits) if digits.isascii() and digits.isdigit() else 0


def above_100_percent(value: int | str, path: Path) -> list[FieldError]:
    if isinstance(value, str) and not is_valid_percent(value) and int_or_percent(value) > 100:
        return [invalid(path, value, "must not be greater than 100%")]
    return []


def counter_errors(status: dict[str, Any], names: Iterable[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for name in names:
        errors += validate_non_negative(status.get(name) or 0, STATUS.child(name))
    return errors


def not_above(status: dict[str, Any], name: str, limit: str, text: str) -> list[FieldError]:
    value = status.get(name) or 0
    return [invalid(STATUS.child(name), value, text)] if value > (status.get(limit) or 0) else []


def decremented(new: Obj, old: Obj) -> list[FieldError]:
    """The collision count can neither decrease nor be removed."""
    count, before = new["status"].get("collisionCount"), (old.get("status") or {}).get("collisionCount")
    if before is None or (count is not None and count >= before):
        return []
    return [invalid(STATUS.child("collisionCount"), count or 0, "cannot be decremented")]
