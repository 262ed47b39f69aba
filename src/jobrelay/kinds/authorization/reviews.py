"""Reviews: questions to the server that are answered and never stored.

`*_errors` are field errors (422, under the group but without a kind, as the real server has it); `bad_request` is a
text for a 400 that comes instead. Answering is the server's business.
"""

from __future__ import annotations

from typing import Any, Final

from jobrelay.apimachinery.field import FieldError, Path, forbidden, invalid, required
from jobrelay.apimachinery.gostruct import struct_value
from jobrelay.apimachinery.meta import validate_label_selector_requirement
from jobrelay.kinds.strategy import Obj

_SPEC: Final = Path("spec")
_ATTRIBUTES: Final = _SPEC.child("resourceAttributes")
_OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def bad_request(kind: str, review: Obj, namespace: str = "") -> str:
    """Why a review is refused before anything else, or an empty text; `namespace` is the one in the path."""
    if kind == "TokenReview" and not review["spec"].get("token"):
        return "token is required for TokenReview in authentication"
    if kind == "SelfSubjectRulesReview" and not review["spec"].get("namespace"):
        return "no namespace on request"
    if kind == "LocalSubjectAccessReview" and review["metadata"].get("namespace", "") != namespace:
        return f"spec.resourceAttributes.namespace must match namespace: {namespace}"
    return ""


def subject_access_review_errors(review: Obj) -> list[FieldError]:
    return _spec_errors(review["spec"], with_subject=True) + _empty_metadata(review["metadata"], "must be empty")


def self_subject_access_review_errors(review: Obj) -> list[FieldError]:
    return _spec_errors(review["spec"], with_subject=False) + _empty_metadata(review["metadata"], "must be empty")


def local_subject_access_review_errors(review: Obj) -> list[FieldError]:
    metadata, spec = review["metadata"], review["spec"]
    errors = _spec_errors(spec, with_subject=True)
    errors += _empty_metadata(metadata, "must be empty except for namespace", "namespace")
    if "resourceAttributes" in spec:
        namespace = spec["resourceAttributes"].get("namespace", "")
        if namespace != metadata.get("namespace", ""):
            errors.append(invalid(_ATTRIBUTES.child("namespace"), namespace, "must match metadata.namespace"))
    if "nonResourceAttributes" in spec:
        value = _shown(spec["nonResourceAttributes"])
        errors.append(invalid(_SPEC.child("nonResourceAttributes"), value, "disallowed on this kind of request"))
    return errors


def _shown(attributes: dict[str, Any] | None) -> Any:
    return struct_value(attributes, "io.k8s.api.authorization.v1.NonResourceAttributes")


def _spec_errors(spec: dict[str, Any], *, with_subject: bool) -> list[FieldError]:
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    errors: list[FieldError] = []
    if resource is not None and other is not None:
        text = "cannot be specified in combination with resourceAttributes"
        errors.append(invalid(_SPEC.child("nonResourceAttributes"), _shown(other), text))
    if resource is None and other is None:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        errors.append(invalid(_ATTRIBUTES, None, text))
    if with_subject and not spec.get("user") and not spec.get("groups"):
        errors.append(invalid(_SPEC.child("user"), "", "at least one of user or group must be specified"))
    for field, check in (("fieldSelector", _field_requirement), ("labelSelector", _label_requirement)):
        selector = (resource or {}).get(field)
        if selector is not None:
            at = _ATTRIBUTES.child(field)
            errors += _selector_form(selector, at)
            for i, requirement in enumerate(selector.get("requirements") or ()):
                errors += check(requirement, at.child("requirements").index(i))
    return errors


def _selector_form(selector: dict[str, Any], path: Path) -> list[FieldError]:
    raw, requirements = selector.get("rawSelector", ""), selector.get("requirements")
    if raw and requirements:
        return [invalid(path.child("rawSelector"), raw, "may not specified at the same time as requirements")]
    if not raw and not requirements:
        text = f"when {path} is specified, requirements or rawSelector is required"
        return [required(path.child("requirements"), text)]
    return []


def _field_requirement(requirement: dict[str, Any], path: Path) -> list[FieldError]:
    errors = [] if requirement.get("key") else [required(path.child("key"), "must be specified")]
    operator, values, at = requirement.get("operator", ""), requirement.get("values"), path.child("values")
    if operator in ("In", "NotIn") and not values:
        errors.append(required(at, "must be specified when `operator` is 'In' or 'NotIn'"))
    if operator in ("Exists", "DoesNotExist") and values:
        errors.append(forbidden(at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
    return errors


def _label_requirement(requirement: dict[str, Any], path: Path) -> list[FieldError]:
    """Unknown operators are accepted: authorizers ignore them."""
    operator = str(path.child("operator"))
    return [error for error in validate_label_selector_requirement(requirement, path) if error.field != operator]


def _empty_metadata(metadata: dict[str, Any], text: str, *allowed: str) -> list[FieldError]:
    if not any(value for name, value in metadata.items() if name not in ("managedFields", *allowed)):
        return []
    return [invalid(Path("metadata"), struct_value(metadata, _OBJECT_META), text)]
