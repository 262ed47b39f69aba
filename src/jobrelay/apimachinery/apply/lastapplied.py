"""The annotation by which kubectl remembers what it applied from the client's side.

When kubectl changes over to server-side apply, its own earlier configuration is no reason for conflicts, and the
annotation is kept up to date as long as the object has it.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from jobrelay.apimachinery.apply.compare import compare
from jobrelay.apimachinery.apply.fieldset import Fields, difference
from jobrelay.apimachinery.apply.schema import Schema
from jobrelay.apimachinery.apply.typed import TypedError, field_set, validate
from jobrelay.apimachinery.gojson import UNREADABLE

ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
MAX_ANNOTATIONS: Final = 256 * 1024


def _annotations(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = obj.get("metadata")
    found = metadata.get("annotations") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def unchanged_fields(live: dict[str, Any], schema: Schema) -> Fields | None:
    """The fields that kubectl applied last and that are still as it applied them; None when that is not known."""
    text = _annotations(live).get(ANNOTATION)
    if not text:
        return None
    try:
        applied = msgspec.json.decode(text)
        if not isinstance(applied, dict) or applied.get("apiVersion") != schema.version:
            return None
        validate(applied, schema.root)
        changes = compare(applied, live, schema.root)
    except (*UNREADABLE, TypedError):
        return None
    fields = field_set(applied, schema.root)
    for part in changes:
        fields = difference(fields, part)
    return fields


def record(obj: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    """The object with the annotation set to the configuration, if it has the annotation."""
    annotations = _annotations(obj)
    if not annotations.get(ANNOTATION):
        return obj
    kept = {key: value for key, value in annotations.items() if key != ANNOTATION}
    text = _encode(config)
    size = sum(len(key.encode()) + len(str(value).encode()) for key, value in kept.items())
    if size + len(ANNOTATION) + len(text.encode()) <= MAX_ANNOTATIONS:
        kept[ANNOTATION] = text
    return {**obj, "metadata": {**obj["metadata"], "annotations": kept}}


def _encode(config: dict[str, Any]) -> str:
    if ANNOTATION in _annotations(config):
        others = {key: value for key, value in _annotations(config).items() if key != ANNOTATION}
        config = {**config, "metadata": {**config["metadata"], "annotations": others}}
    text = msgspec.json.encode(config, order="sorted", enc_hook=float).decode()
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e") + "\n"
