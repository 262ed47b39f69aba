"""Server-side apply and field management: who owns which fields of an object."""

from jobrelay.apimachinery.apply.apply import ApplyConflict, apply_object, check_apply
from jobrelay.apimachinery.apply.entries import ManagedFieldsError, check_managed_fields, restore_times
from jobrelay.apimachinery.apply.managed import update_managed_fields
from jobrelay.apimachinery.apply.scale import to_parent, to_scale
from jobrelay.apimachinery.apply.schema import Schema, built_in_schema, custom_schema

__all__ = [
    "ApplyConflict", "ManagedFieldsError", "Schema", "apply_object", "built_in_schema", "check_apply",
    "check_managed_fields", "custom_schema",
    "restore_times", "to_parent", "to_scale", "update_managed_fields",
]  # fmt: skip
