"""DeviceClasses: named sets of devices, by selector, with default configuration."""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path
from jobrelay.apimachinery.meta import validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import is_long_name, name_is_dns_subdomain
from jobrelay.kinds.generation import count_spec_changes, start_generation
from jobrelay.kinds.resource.checks import MAX_CONFIGS, device_configuration, each, selectors
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

_SPEC: Final = Path("spec")


def _drop_disabled(obj: Obj) -> None:
    obj["spec"].pop("extendedResourceName", None)


def prepare_create(obj: Obj) -> None:
    start_generation(obj)
    _drop_disabled(obj)


def prepare_update(new: Obj, old: Obj) -> None:
    _drop_disabled(new)
    count_spec_changes(new, old)


def _validate_spec(spec: dict[str, Any]) -> list[FieldError]:
    errors = selectors(spec.get("selectors") or [], _SPEC.child("selectors"))
    return errors + each(spec.get("config") or [], MAX_CONFIGS, device_configuration, _SPEC.child("config"))


def _check_name(name: str, prefix: bool) -> list[str]:
    return name_is_dns_subdomain(name, prefix) if prefix else is_long_name(name)


def validate(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=False, name_fn=_check_name)
    return errors + _validate_spec(obj["spec"])


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta(new["metadata"], namespaced=False, name_fn=_check_name)
    errors += validate_object_meta_update(new["metadata"], old["metadata"])
    return errors + _validate_spec(new["spec"])


STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    ("resource.k8s.io", "deviceclasses"): Strategy(
        delete_returns_object=True,
        prepare_create=prepare_create,
        validate_create=validate,
        update=UpdateStrategy(prepare_update, validate_update),
    )
}
