"""Secrets: base64 data, `stringData` folded into it, and keys that some types must have.

The type is chosen at creation. An update that leaves it out means Opaque, as everywhere, and is refused for other
types.
"""

from __future__ import annotations

import base64
from typing import Any, Final

from jobrelay.apimachinery import gojson
from jobrelay.apimachinery.field import FieldError, Path, invalid, required, too_long
from jobrelay.apimachinery.meta import validate_immutable_field, validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import is_config_map_key, name_is_dns_subdomain
from jobrelay.kinds.core.checks import unsupported_label
from jobrelay.kinds.core.configmaps import MAX_SIZE, decoded_size, validate_frozen
from jobrelay.kinds.core.tlspair import key_pair_error
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy, metadata_fields

OPAQUE: Final = "Opaque"
SERVICE_ACCOUNT_TOKEN: Final = "kubernetes.io/service-account-token"
SERVICE_ACCOUNT_NAME: Final = "kubernetes.io/service-account.name"
TLS: Final = "kubernetes.io/tls"
_JSON_KEYS: Final = {"kubernetes.io/dockercfg": ".dockercfg", "kubernetes.io/dockerconfigjson": ".dockerconfigjson"}
_DATA: Final = Path("data")


def default(secret: Obj) -> None:
    secret.setdefault("type", OPAQUE)
    if texts := secret.pop("stringData", None):  # the data may be shared with the stored object
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        secret["data"] = {**(secret.get("data") or {}), **encoded}


def validate(secret: Obj) -> list[FieldError]:
    errors = validate_object_meta(secret["metadata"], namespaced=True, name_fn=name_is_dns_subdomain)
    data = secret.get("data") or {}
    for key in data:
        errors += [invalid(_DATA.key(key), key, text) for text in is_config_map_key(key)]
    if sum(decoded_size(value) for value in data.values()) > MAX_SIZE:
        errors.append(too_long(_DATA, MAX_SIZE))
    return errors + _validate_type(secret, data)


def _validate_type(secret: Obj, data: dict[str, Any]) -> list[FieldError]:
    kind = secret.get("type", "")
    if kind == SERVICE_ACCOUNT_TOKEN:
        if not (secret["metadata"].get("annotations") or {}).get(SERVICE_ACCOUNT_NAME):
            return [required(Path("metadata.annotations").key(SERVICE_ACCOUNT_NAME))]
    elif kind in _JSON_KEYS:
        return _validate_json(data, _JSON_KEYS[kind])
    elif kind == "kubernetes.io/basic-auth":
        if not {"username", "password"} & data.keys():
            return [required(_DATA.key("username")), required(_DATA.key("password"))]
    elif kind == "kubernetes.io/ssh-auth":
        if not data.get("ssh-privatekey"):
            return [required(_DATA.key("ssh-privatekey"))]
    elif kind == TLS:
        return [required(_DATA.key(key)) for key in ("tls.crt", "tls.key") if key not in data]
    return []


def _validate_json(data: dict[str, Any], key: str) -> list[FieldError]:
    if key not in data:
        return [required(_DATA.key(key))]
    problem = json_object_error(base64.b64decode(data[key] or ""))
    return [invalid(_DATA.key(key), "<secret contents redacted>", problem)] if problem else []


def json_object_error(content: bytes) -> str:
    """The error of Go's decoder for content that is not a JSON object, or an empty text."""
    try:
        value = gojson.loads(content)
    except gojson.JsonError as error:
        return str(error)
    if value is None or isinstance(value, dict):
        return ""
    kinds = {str: "string", bool: "bool", list: "array"}
    return f"json: cannot unmarshal {kinds.get(type(value), 'number')} into Go value of type map[string]interface {{}}"


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(new["metadata"], old["metadata"])
    errors += validate_immutable_field(new.get("type", ""), old.get("type", ""), Path("type"))
    return errors + validate_frozen(new, old, "data") + validate(new)


def warnings(secret: Obj) -> list[str]:
    if secret.get("type") != TLS:
        return []
    data = secret.get("data") or {}
    problem = key_pair_error(*(base64.b64decode(data.get(key) or "") for key in ("tls.crt", "tls.key")))
    return [problem] if problem else []


def fields(secret: Obj) -> dict[str, str]:
    return metadata_fields(secret) | {"type": secret.get("type", "")}


STRATEGIES: Final = {
    ("", "secrets"): Strategy(
        default=default,
        validate_create=validate,
        warn_create=warnings,
        update=UpdateStrategy(validate=validate_update, warn=lambda new, old: warnings(new)),
        fields=fields,
        field_labels=frozenset({"metadata.name", "metadata.namespace", "type"}),
        unsupported_field=unsupported_label,
    )
}
