"""Leases: who leads, since when. Written with a resource version or not at all, and created by an update if need be."""

from __future__ import annotations

from typing import Final

from jobrelay.apimachinery.field import FieldError, Path, forbidden, invalid, not_supported
from jobrelay.apimachinery.meta import validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import is_qualified_name, name_is_dns_subdomain
from jobrelay.kinds.strategy import Obj, Strategy, Update

_SPEC: Final = Path("spec")
_COORDINATED: Final = ("strategy", "preferredHolder")
STRATEGY_NAMES: Final = ("OldestEmulationVersion",)


def drop_coordination(lease: Obj, old: Obj | None = None) -> None:
    """Coordinated leader election is off: its fields stay only where they are already."""
    for name in _COORDINATED:
        if old is None or name not in old["spec"]:
            lease["spec"].pop(name, None)


def _validate_spec(lease: Obj) -> list[FieldError]:
    spec, errors = lease["spec"], []
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        errors.append(invalid(_SPEC.child("leaseDurationSeconds"), duration, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        errors.append(invalid(_SPEC.child("leaseTransitions"), transitions, "must be greater than or equal to 0"))
    strategy = spec.get("strategy")
    if strategy is not None:
        at = _SPEC.child("strategy", "strategy")
        if "/" in strategy:
            errors += [invalid(at, strategy, text) for text in is_qualified_name(strategy)]
        elif strategy not in STRATEGY_NAMES:
            errors.append(not_supported(at, strategy, STRATEGY_NAMES))
    if spec.get("preferredHolder") and not strategy:
        errors.append(forbidden(_SPEC.child("preferredHolder"), "may only be specified if `strategy` is defined"))
    return errors


def validate(lease: Obj) -> list[FieldError]:
    errors = validate_object_meta(
        lease["metadata"], namespaced=True, name_fn=name_is_dns_subdomain, known_finalizers=False
    )
    return errors + _validate_spec(lease)


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    return validate_object_meta_update(new["metadata"], old["metadata"], known_finalizers=False) + _validate_spec(new)


STRATEGIES: Final = {
    ("coordination.k8s.io", "leases"): Strategy(
        prepare_create=drop_coordination,
        validate_create=validate,
        update=Update(drop_coordination, validate_update),
        unconditional_update=False,
        create_on_update=True,
    )
}
