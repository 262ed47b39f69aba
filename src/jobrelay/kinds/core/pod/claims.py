"""Checks on the claim that an ephemeral volume makes for its pod."""

from __future__ import annotations

from typing import Final

from jobrelay.apimachinery.field import Path, forbidden
from jobrelay.apimachinery.meta import validate_annotations, validate_labels
from jobrelay.kinds.core.claims import validate_claim_spec
from jobrelay.kinds.core.pod.common import Errors, Fields

_TEMPLATE_FORBIDDEN: Final = (
    ("name", "name"), ("generateName", "generateName"), ("namespace", "namespace"), ("selfLink", "selfLink"), ("uid", "uID"),
    ("resourceVersion", "resourceVersion"), ("generation", "generation"), ("creationTimestamp", "creationTimestamp"),
    ("deletionTimestamp", "deletionTimestamp"), ("deletionGracePeriodSeconds", "deletionGracePeriodSeconds"),
    ("ownerReferences", "ownerReferences"), ("finalizers", "finalizers"), ("managedFields", "managedFields"),
)  # fmt: skip


def validate_template_metadata(metadata: Fields, path: Path) -> Errors:
    """The metadata of a template, which may hold labels and annotations only."""
    errors = validate_annotations(metadata.get("annotations"), path.child("annotations"))
    errors += validate_labels(metadata.get("labels"), path.child("labels"))
    return errors + [
        forbidden(path.child(shown), "cannot be set") for name, shown in _TEMPLATE_FORBIDDEN if metadata.get(name)
    ]


def validate_claim_template(template: Fields, path: Path) -> Errors:
    errors = validate_template_metadata(template.get("metadata") or {}, path.child("metadata"))
    return errors + validate_claim_spec(template["spec"], path.child("spec"))
