"""Priority classes. The two system classes are the only ones that may carry the system prefix."""

from __future__ import annotations

from typing import Final

from jobrelay.apimachinery.field import FieldError, Path, forbidden, not_supported, required
from jobrelay.apimachinery.meta import validate_immutable_field, validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import name_is_dns_subdomain
from jobrelay.kinds.generation import start_generation
from jobrelay.kinds.strategy import Obj, Strategy, Update

SYSTEM_PREFIX: Final = "system-"
HIGHEST_USER_PRIORITY: Final = 1_000_000_000
SYSTEM_CLASSES: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
PREEMPTION_POLICIES: Final = ("PreemptLowerPriority", "Never")


def default(priority_class: Obj) -> None:
    priority_class.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _system_name_error(priority_class: Obj) -> str:
    name = priority_class["metadata"].get("name", "")
    if name not in SYSTEM_CLASSES:
        return f"{name} is not a known system priority class"
    if priority_class.get("value", 0) != SYSTEM_CLASSES[name]:
        return f"value of {name} PriorityClass must be {SYSTEM_CLASSES[name]}"
    if priority_class.get("globalDefault"):
        return f"globalDefault of {name} PriorityClass must be false"
    return ""


def validate(priority_class: Obj) -> list[FieldError]:
    errors = validate_object_meta(priority_class["metadata"], namespaced=False, name_fn=name_is_dns_subdomain)
    if priority_class["metadata"].get("name", "").startswith(SYSTEM_PREFIX):
        if problem := _system_name_error(priority_class):
            text = (
                f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only. error: {problem}"
            )
            errors.append(forbidden(Path("metadata.name"), text))
    elif priority_class.get("value", 0) > HIGHEST_USER_PRIORITY:
        text = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        errors.append(forbidden(Path("value"), text))
    policy = priority_class.get("preemptionPolicy")
    if policy == "":
        errors.append(required(Path("preemptionPolicy")))
    elif policy is not None and policy not in PREEMPTION_POLICIES:
        errors.append(not_supported(Path("preemptionPolicy"), policy, PREEMPTION_POLICIES))
    return errors


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    if new.get("value", 0) != old.get("value", 0):
        errors.append(forbidden(Path("value"), "may not be changed in an update."))
    at = Path("preemptionPolicy")
    return errors + validate_immutable_field(new.get("preemptionPolicy"), old.get("preemptionPolicy"), at)


STRATEGIES: Final = {
    ("scheduling.k8s.io", "priorityclasses"): Strategy(
        default=default,
        prepare_create=start_generation,
        validate_create=validate,
        update=Update(validate=validate_update),
    )
}
