"""Config maps: text and binary data under one set of keys, one mebibyte at most, optionally frozen for good."""

from __future__ import annotations

from typing import Final

from jobrelay.apimachinery.field import FieldError, Path, forbidden, invalid, too_long
from jobrelay.apimachinery.meta import validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import is_config_map_key, name_is_dns_subdomain, size
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

MAX_SIZE: Final = 1024 * 1024
FROZEN: Final = "field is immutable when `immutable` is set"
_WHOLE_OBJECT: Final = Path("[]")


def decoded_size(base64: str) -> int:
    """The number of bytes that a base64 text decodes to."""
    return len(base64) // 4 * 3 - base64[-2:].count("=")


def validate(config_map: Obj) -> list[FieldError]:
    errors = validate_object_meta(config_map["metadata"], namespaced=True, name_fn=name_is_dns_subdomain)
    data, binary = config_map.get("data") or {}, config_map.get("binaryData") or {}
    for key in data:
        at = Path("data").key(key)
        errors += [invalid(at, key, text) for text in is_config_map_key(key)]
        if key in binary:
            errors.append(invalid(at, key, "duplicate of key present in binaryData"))
    for key in binary:
        errors += [invalid(Path("binaryData").key(key), key, text) for text in is_config_map_key(key)]
    total = sum(size(value) for value in data.values()) + sum(decoded_size(value) for value in binary.values())
    if total > MAX_SIZE:
        errors.append(too_long(_WHOLE_OBJECT, MAX_SIZE))
    return errors


def validate_frozen(new: Obj, old: Obj, *data_fields: str) -> list[FieldError]:
    """An immutable object stays so, with the same data."""
    if not old.get("immutable"):
        return []
    errors = [] if new.get("immutable") else [forbidden(Path("immutable"), FROZEN)]
    changed = [name for name in data_fields if (new.get(name) or {}) != (old.get(name) or {})]
    return errors + [forbidden(Path(name), FROZEN) for name in changed]


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    return errors + validate_frozen(new, old, "data", "binaryData") + validate(new)


STRATEGIES: Final = {
    ("", "configmaps"): Strategy(validate_create=validate, update=UpdateStrategy(validate=validate_update))
}
