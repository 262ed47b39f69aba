"""The CustomResourceDefinition kind: defaults, what writes do to it, validation, warnings."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, Final

from jobrelay.apimachinery import field
from jobrelay.apimachinery.field import FieldError, Path
from jobrelay.apimachinery.formats import format_check
from jobrelay.apimachinery.meta import validate_immutable_field, validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import name_is_dns_subdomain
from jobrelay.kinds.apiextensions import defaultchecks, hoisting, specchecks
from jobrelay.kinds.apiextensions.approval import approval_errors
from jobrelay.kinds.apiextensions.naming import is_established, storage_versions
from jobrelay.kinds.apiextensions.schemachecks import TYPES, SchemaRequirements, map_key_errors
from jobrelay.kinds.apiextensions.specchecks import MAX_SELECTABLE, REVIEW_VERSIONS, SpecRequirements
from jobrelay.kinds.apiextensions.structural import StructuralSchema
from jobrelay.kinds.apiextensions.webhooks import ca_bundle_problem
from jobrelay.kinds.generation import count_spec_changes, keep_spec, keep_status, start_generation
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")


def default(crd: Obj) -> None:
    spec = crd["spec"]
    names = spec["names"]
    if not names.get("singular") and names.get("kind"):
        names["singular"] = names["kind"].lower()
    if not names.get("listKind") and names.get("kind"):
        names["listKind"] = names["kind"] + "List"
    if spec.get("conversion") is None:
        spec["conversion"] = {"strategy": "None"}
    service = ((spec["conversion"].get("webhook") or {}).get("clientConfig") or {}).get("service")
    if service is not None and service.get("port") is None:
        service["port"] = 443
    status = crd["status"]
    if not status.get("storedVersions") and (stored := storage_versions(crd)):
        status["storedVersions"] = stored


def _empty_status() -> Obj:
    return {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": None}


def prepare_create(crd: Obj) -> None:
    crd["status"] = _empty_status()
    _remember_storage(crd)
    start_generation(crd)


def prepare_update(new: Obj, old: Obj) -> None:
    keep_status(new, old)
    new["status"] = dict(new.get("status") or _empty_status())
    _remember_storage(new)
    count_spec_changes(new, old)


def _remember_storage(crd: Obj) -> None:
    """Every version that objects were ever stored in stays on record."""
    stored = list(crd["status"].get("storedVersions") or ())
    stored += [version for version in storage_versions(crd) if version not in stored]
    crd["status"]["storedVersions"] = stored or None


def validate_create(crd: Obj) -> list[FieldError]:
    errors = _meta_errors(crd)
    errors += specchecks.validate_spec(crd["spec"], SpecRequirements(), _SPEC)
    errors += _status_errors(crd) + approval_errors(crd, None)
    return errors + _preserve_errors(crd, None)


def validate_update(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(new["metadata"], old["metadata"], known_finalizers=False)
    spec, before = new["spec"], old["spec"]
    errors += specchecks.validate_spec(spec, _demands(new, old), _SPEC)
    if is_established(old):
        errors += validate_immutable_field(spec.get("scope", ""), before.get("scope", ""), _SPEC.child("scope"))
        errors += _immutable_name("kind", spec, before)
    errors += validate_immutable_field(spec.get("group", ""), before.get("group", ""), _SPEC.child("group"))
    errors += _immutable_name("plural", spec, before)
    errors += _status_errors(new) + approval_errors(new, old)
    return errors + _preserve_errors(new, old)


def validate_status(new: Obj, old: Obj) -> list[FieldError]:
    errors = validate_object_meta_update(new["metadata"], old["metadata"], known_finalizers=False)
    return errors + specchecks.names_errors(new["status"].get("acceptedNames") or {}, _STATUS.child("acceptedNames"))


def _immutable_name(name: str, spec: Obj, before: Obj) -> list[FieldError]:
    return validate_immutable_field(
        spec["names"].get(name, ""), before["names"].get(name, ""), _SPEC.child("names", name)
    )


def _meta_errors(crd: Obj) -> list[FieldError]:
    wanted = f"{crd['spec']['names'].get('plural', '')}.{crd['spec'].get('group', '')}"

    def name_fn(name: str, prefix: bool) -> list[str]:
        wrong = name_is_dns_subdomain(name, prefix)
        return wrong if name == wanted else [*wrong, 'must be spec.names.plural+"."+spec.group']

    return validate_object_meta(crd["metadata"], namespaced=False, name_fn=name_fn, known_finalizers=False)


def _status_errors(crd: Obj) -> list[FieldError]:
    status = crd["status"]
    errors = specchecks.names_errors(status.get("acceptedNames") or {}, _STATUS.child("acceptedNames"))
    path, stored = _STATUS.child("storedVersions"), status.get("storedVersions")
    if not stored:
        return [*errors, field.invalid(path, stored, "must have at least one stored version")]
    missing = set(stored)
    for version in crd["spec"].get("versions") or ():
        if version.get("storage") and version["name"] not in missing:
            errors.append(field.invalid(path, stored, f"must have the storage version {version['name']}"))
        missing.discard(version["name"])
    for index, name in enumerate(stored):
        if name in missing:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            errors.append(field.invalid(path.index(index), name, detail))
    return errors


def _preserve_errors(crd: Obj, old: Obj | None) -> list[FieldError]:
    if old is not None and old["spec"].get("preserveUnknownFields"):
        return []
    if not crd["spec"].get("preserveUnknownFields"):
        return []
    detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
    return [field.invalid(_SPEC.child("preserveUnknownFields"), True, detail)]


def _demands(new: Obj, old: Obj) -> SpecRequirements:
    """An update may keep what the stored definition already did wrong."""
    spec = old["spec"]
    before = hoisting.schemas(spec)
    places = [place for schema in before for place in _places(schema)]
    webhook = (spec.get("conversion") or {}).get("webhook") or {}
    versions = webhook.get("conversionReviewVersions") or ()
    bundle: Any = (webhook.get("clientConfig") or {}).get("caBundle")
    return SpecRequirements(
        schema=SchemaRequirements(
            valid_types=all(place.get("type", "object") in TYPES for place in places),
            atomic_sets=not any(_has_mixed_set(place) for place in places),
            map_keys=not any(map_key_errors(place, Path()) for place in places),
        ),
        pruned_defaults=not any(_unpruned(schema) for schema in before),
        known_review_version=not versions or bool(set(versions) & set(REVIEW_VERSIONS)),
        valid_ca_bundle=is_established(old) and not (bundle and ca_bundle_problem(base64.b64decode(bundle))),
        unchanged=_unchanged(new, old),
        too_many_selectable=_many_selectable(new, old),
    )


def _has_mixed_set(schema: Obj) -> bool:
    items = schema.get("items")
    if schema.get("x-kubernetes-list-type") != "set" or not isinstance(items, dict):
        return False
    if items.get("type") == "array":
        return items.get("x-kubernetes-list-type") not in (None, "atomic")
    return items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic"


def _unpruned(schema: Obj) -> bool:
    if not defaultchecks.has_defaults(schema):
        return False
    errors = defaultchecks.validate_defaults(StructuralSchema(schema), Path(), require_pruned=True)
    return any(error.detail == "must not have unknown fields" for error in errors)


def _by_name(crd: Obj) -> dict[str, Obj]:
    return {version["name"]: version for version in crd["spec"].get("versions") or ()}


def _unchanged(new: Obj, old: Obj) -> frozenset[str]:
    before = _by_name(old)
    return frozenset(n for n, v in _by_name(new).items() if n in before and v.get("schema") == before[n].get("schema"))


def _many_selectable(new: Obj, old: Obj) -> frozenset[str]:
    before, found = _by_name(old), set()
    for name, version in _by_name(new).items():
        fields = version.get("selectableFields") or []
        if len(fields) > MAX_SELECTABLE and name in before and before[name].get("selectableFields") == fields:
            found |= {name, ""}
    return frozenset(found)


def _places(schema: Any) -> Iterator[Obj]:
    """A schema and all schemas inside it."""
    if not isinstance(schema, dict):
        return
    yield schema
    for key in ("items", "additionalProperties", "not", "additionalItems"):
        if isinstance(schema.get(key), dict):
            yield from _places(schema[key])
    for key in ("allOf", "anyOf", "oneOf"):
        for child in schema.get(key) or ():
            yield from _places(child)
    for key in ("properties", "patternProperties", "definitions"):
        for child in (schema.get(key) or {}).values():
            yield from _places(child)


def _unknown_formats(crd: Obj) -> list[str]:
    inner = hoisting.hoist(crd["spec"])
    found = []
    for holder in (inner.schema, *(version.get("schema") for version in inner.versions)):
        for place in _places((holder or {}).get("openAPIV3Schema")):
            format_ = place.get("format", "")
            if format_ and place.get("type") == "string" and format_check(format_) is None:
                found.append(format_)
    return found


def warn_create(crd: Obj) -> list[str]:
    return [f"unrecognized format {field.go_quote(name)}" for name in _unknown_formats(crd)]


def warn_update(new: Obj, old: Obj) -> list[str]:
    before = set(_unknown_formats(old))
    return [f"unrecognized format {field.go_quote(name)}" for name in _unknown_formats(new) if name not in before]


STRATEGIES: dict[tuple[str, str], Strategy] = {
    ("apiextensions.k8s.io", "customresourcedefinitions"): Strategy(
        default=default,
        prepare_create=prepare_create,
        validate_create=validate_create,
        warn_create=warn_create,
        update=UpdateStrategy(prepare=prepare_update, validate=validate_update, warn=warn_update),
        subresources={"status": UpdateStrategy(prepare=keep_spec, validate=validate_status)},
        unconditional_update=False,
        delete_returns_object=True,
        reset_fields={"": (("status",),), "status": (("metadata",), ("spec",))},
    )
}
