"""apps/v1 ControllerRevisions: immutable snapshots of what a controller manages."""

from __future__ import annotations

from typing import Final

from jobrelay.apimachinery import meta
from jobrelay.apimachinery.field import FieldError, Path, invalid, required
from jobrelay.apimachinery.gostruct import json_value
from jobrelay.apimachinery.names import name_is_dns_subdomain
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

_DATA: Final = Path("data")


def _common_errors(revision: Obj) -> list[FieldError]:
    errors = meta.validate_object_meta(revision["metadata"], namespaced=True, name_fn=name_is_dns_subdomain)
    return errors + meta.validate_non_negative(revision["revision"], Path("revision"))


def _validate_create(revision: Obj) -> list[FieldError]:
    errors, data = _common_errors(revision), revision.get("data")
    if data is None:
        errors.append(required(_DATA, "data is mandatory"))
    elif not isinstance(data, dict):
        errors.append(required(_DATA, "data must be a valid JSON object"))
    return errors


def _validate_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = meta.validate_object_meta_update(new["metadata"], old["metadata"]) + _common_errors(new)
    if new.get("data") != old.get("data"):
        errors.append(invalid(_DATA, json_value(new.get("data")), meta.IMMUTABLE))
    return errors


STRATEGIES: Final = {
    ("apps", "controllerrevisions"): Strategy(
        validate_create=_validate_create, update=UpdateStrategy(validate=_validate_update)
    )
}
