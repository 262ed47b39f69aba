"""Server-side apply and field management: who owns which fields of an object."""

from jobrelay.kinds.apply.apply import ApplyConflict, apply_object, check_apply
from jobrelay.kinds.apply.entries import ManagedFieldsError, restore_times
from jobrelay.kinds.apply.managed import update_managed_fields
from jobrelay.kinds.apply.scale import to_parent, to_scale, track_scale
from jobrelay.kinds.apply.schema import Schema, built_in_schema, custom_schema

__all__ = [
    "ApplyConflict",
    "ManagedFieldsError",
    "Schema",
    "apply_object",
    "built_in_schema",
    "check_apply",
    "custom_schema",
    "restore_times",
    "to_parent",
    "to_scale",
    "track_scale",
    "update_managed_fields",
]
