"""What is particular about a kind: the hooks that the API server calls on the way of a request.

The server owns the way (decode, default, admission, prepare, validate, store); a kind only fills in what differs. The
defaults below are right for a kind without rules of its own, so that serving one more kind is a table entry. All hooks
are pure functions over canonical objects; `default` and the `prepare` hooks change the object that they are given.

The order for a create is: default, (server fills uid, name, times), prepare_create, warn_prepared, validate_create,
warn_create, canonicalize; for an update: default, prepare_update, validate_update, warn_update, canonicalize. A refusal
has the warnings from before it. A write to a subresource uses the hooks of `subresources`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jobrelay.apimachinery.field import FieldError

Obj = dict[str, Any]


def _unchanged(*objects: Obj) -> None:
    return None


def _nothing_found(*objects: Obj) -> list[Any]:
    return []


def metadata_fields(obj: Obj) -> dict[str, str]:
    """The fields that every kind can be selected by."""
    metadata = obj["metadata"]
    return {"metadata.name": metadata.get("name", ""), "metadata.namespace": metadata.get("namespace", "")}


@dataclass(frozen=True, slots=True)
class UpdateStrategy:
    """The hooks for one kind of update: of the object itself, of its status, or of another subresource."""

    prepare: Callable[[Obj, Obj], None] = _unchanged
    validate: Callable[[Obj, Obj], list[FieldError]] = _nothing_found
    warn: Callable[[Obj, Obj], list[str]] = _nothing_found

    def review(self, new: Obj, old: Obj) -> tuple[list[FieldError], list[str]]:
        """The errors of an update and, if there are none, its warnings."""
        errors = self.validate(new, old)
        return errors, [] if errors else self.warn(new, old)


@dataclass(frozen=True, slots=True)
class Strategy:
    """The hooks and switches of one kind.

    fields: the values that field selectors see. unsupported_field: the server's text for any other label, given (label,
    kind). default_propagation: what DELETE does to dependents when the client does not say. reset_fields: per
    subresource ("" is the object itself) the top-level fields that server-side apply must not own there. canonicalize:
    what defaulting adds once more when the stored object is read. late_labels: labels that canonicalize adds are not
    stored at first, so that the next write is one even when it changes nothing. validates_metadata: validate_create
    looks at all of the metadata, more strictly than is done for every kind.
    """

    default: Callable[[Obj], None] = _unchanged
    prepare_create: Callable[[Obj], None] = _unchanged
    warn_prepared: Callable[[Obj], list[str]] = _nothing_found
    validate_create: Callable[[Obj], list[FieldError]] = _nothing_found
    validates_metadata: bool = False
    warn_create: Callable[[Obj], list[str]] = _nothing_found
    canonicalize: Callable[[Obj], None] = _unchanged
    late_labels: bool = False
    update: UpdateStrategy = UpdateStrategy()
    subresources: Mapping[str, UpdateStrategy] = field(default_factory=dict)
    unconditional_update: bool = True
    create_on_update: bool = False
    fields: Callable[[Obj], dict[str, str]] = metadata_fields
    field_labels: frozenset[str] = frozenset({"metadata.name", "metadata.namespace"})
    unsupported_field: Callable[[str, str], str] | None = None
    default_propagation: str = "Background"
    reset_fields: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    delete_returns_object: bool = False
    warn_delete: tuple[str, ...] = ()
    grace_period: Callable[[Obj, int | None], int] | None = None
