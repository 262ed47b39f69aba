"""Custom resources: one version of a CustomResourceDefinition with its strategy, schemas and printer columns.

A `CustomKind` is read from its CRD once; everything that not each request needs (CEL rules, the apply schema, the
table) is made on first use. Metadata, schema, scale, embedded objects, list types and CEL are validated in the real
server's order, and CEL only when nothing is wrong that would make rules fail for the wrong reason. CEL rules are
evaluated once for each write: an update's errors and warnings come from the same evaluation (`CustomUpdate`).
"""

from __future__ import annotations

import copy
import functools
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from jobrelay.apimachinery import field
from jobrelay.apimachinery.apply import Schema, custom_schema
from jobrelay.apimachinery.field import FieldError, Path
from jobrelay.apimachinery.meta import validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import is_qualified_name, name_is_dns_subdomain
from jobrelay.kinds import tables
from jobrelay.kinds.apiextensions import checks, embedded, objects, paths, pruning, scale
from jobrelay.kinds.apiextensions.listtypes import validate_lists
from jobrelay.kinds.apiextensions.ratchet import CorrelatedObject
from jobrelay.kinds.apiextensions.structural import StructuralSchema
from jobrelay.kinds.generation import bump_generation, keep_status
from jobrelay.kinds.strategy import Obj, Strategy, UpdateStrategy

if TYPE_CHECKING:
    from jobrelay.kinds.apiextensions.rules import RuleTree

_BLOCKING: Final = frozenset(
    {"FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"}
)
_NOT_CHECKED: Final = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)
_VERSION: Final = re.compile(r"v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?")
_STANDARD_FINALIZERS: Final = frozenset({"orphan", "foregroundDeletion", "kubernetes"})


Reviewed = tuple[list[FieldError], list[str]]  # errors and warnings


class CustomKind:
    """One version of a CustomResourceDefinition, ready to serve."""

    def __init__(self, crd: Obj, version: str) -> None:
        spec = crd["spec"]
        found: Obj = next(v for v in spec["versions"] if v["name"] == version)
        subresources = found.get("subresources") or {}
        self._crd, self._definition = crd, found
        self._others: dict[str, CustomKind] = {}
        self.group: str = spec["group"]
        self.version = version
        self.api_version = f"{self.group}/{version}"
        self.kind: str = spec["names"]["kind"]
        self.namespaced: bool = spec["scope"] == "Namespaced"
        self.has_status: bool = subresources.get("status") is not None
        self.scale: Obj = subresources.get("scale") or {}
        self.schema: Obj = (found.get("schema") or {}).get("openAPIV3Schema") or {}
        self.node = StructuralSchema(self.schema)
        self.selectable: tuple[str, ...] = tuple(f["jsonPath"] for f in found.get("selectableFields") or ())
        self.deprecation = deprecation_warning(spec, found)

    # Made on first use.

    @functools.cached_property
    def strategy(self) -> Strategy:
        return _strategy(self)

    @functools.cached_property
    def table(self) -> tables.TableSpec:
        return tables.crd_table(self._definition.get("additionalPrinterColumns") or [])

    @functools.cached_property
    def apply_schema(self) -> Schema:
        return custom_schema(self.schema or None, self.api_version, self.kind)

    @functools.cached_property
    def fingerprint(self) -> bytes:
        """Changes whenever the published schema may have changed."""
        spec = self._crd["spec"]
        return hashlib.sha256(msgspec.json.encode([spec["scope"], spec["names"], self._definition])).digest()

    def published(self, *, v2: bool) -> tuple[Obj, Obj]:
        """The schemas of the kind and of its list, as OpenAPI documents show them."""
        from jobrelay.kinds.apiextensions import openapi

        return (
            openapi.openapi_schema(self._crd, self.version, v2=v2),
            openapi.openapi_list_schema(self._crd, self.version, v2=v2),
        )

    # Other versions.

    @functools.cached_property
    def versions(self) -> frozenset[str]:
        """The apiVersions of all versions, served or not."""
        return frozenset(f"{self.group}/{version['name']}" for version in self._crd["spec"]["versions"])

    def in_version(self, version: str) -> CustomKind:
        """The same kind in a version of the definition."""
        if version == self.version:
            return self
        if version not in self._others:
            self._others[version] = CustomKind(self._crd, version)
        return self._others[version]

    def named(self, api_version: object) -> CustomKind | None:
        """The same kind in the version that an object names; None when there is no such version."""
        if not isinstance(api_version, str) or api_version not in self.versions:
            return None
        return self.in_version(api_version.rpartition("/")[2])

    def schema_of(self, api_version: str) -> Schema | None:
        """What server-side apply knows of a version; None when there is none of that name."""
        found = self.named(api_version)
        return found.apply_schema if found is not None else None

    # Requests.

    @functools.cached_property
    def rules(self) -> RuleTree | None:
        """The compiled CEL rules, or None when the schema has none. Their machinery is loaded only where it is used."""
        from jobrelay.kinds.apiextensions.rules import compile_rules

        return compile_rules(self.node)

    def decode(self, value: Any) -> tuple[Obj, list[str]]:
        """A request's JSON as an object of this kind (pruned, not defaulted), and the paths of unknown fields.

        The schema is that of the version which the object names; one that does not exist allows nothing.
        """
        found = self.named(value.get("apiVersion", self.api_version))
        node = found.node if found is not None else None
        return objects.decode_custom(value, node, group=self.group, kind=self.kind)

    def default(self, obj: Obj) -> None:
        pruning.default(obj, self.node)

    def prepare_create(self, obj: Obj) -> None:
        if self.has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def prepare_update(self, new: Obj, old: Obj) -> None:
        if self.has_status:
            keep_status(new, old)
        bump_generation(new, old, changed=_content(new) != _content(old))

    def prepare_status(self, new: Obj, old: Obj) -> None:
        status, managed = new.get("status"), new["metadata"].get("managedFields")
        had_status = "status" in new
        new.clear()
        new.update(copy.deepcopy(old))
        if managed:
            new["metadata"]["managedFields"] = managed
        else:
            new["metadata"].pop("managedFields", None)
        if had_status:
            new["status"] = status
        else:
            new.pop("status", None)

    def validate_create(self, obj: Obj) -> list[FieldError]:
        errors = self._type_errors(obj)
        if not errors:
            errors += self._meta_errors(obj)
            errors += checks.validate(self.node, obj, Path())
            errors += self._scale_errors(obj)
        errors += self._embedded_errors(obj)
        errors += self._list_errors(obj)
        return errors + self._rule_verdict(errors, obj, None, None)[0]

    def review_update(self, new: Obj, old: Obj) -> Reviewed:
        errors = self._type_errors(new)
        correlated = CorrelatedObject(new, old, self.node)
        if not errors:
            errors += validate_object_meta_update(new["metadata"], old["metadata"], known_finalizers=False)
            errors += checks.validate(self.node, new, Path(), correlated)
            errors += self._scale_errors(new)
        errors += self._embedded_errors(new)
        errors += self._new_list_errors(new, old)
        found, warnings = self._rule_verdict(errors, new, old, correlated)
        added = set(new["metadata"].get("finalizers") or ()) - set(old["metadata"].get("finalizers") or ())
        return errors + found, warnings + _finalizer_warnings(added)

    def review_status(self, new: Obj, old: Obj) -> Reviewed:
        errors = self._type_errors(new)
        correlated = CorrelatedObject(new, old, self.node)
        if not errors:
            errors += validate_object_meta_update(new["metadata"], old["metadata"], known_finalizers=False)
            status_node = self.node.named("status")
            if "status" in new and status_node is not None:
                errors += checks.validate(status_node, new["status"], Path("status"), correlated.key("status"))
            errors += scale.status_errors(new, self.scale) if self.scale else []
        errors += self._new_list_errors(new, old)
        found, warnings = self._rule_verdict(errors, new, old, correlated)
        return errors + found, warnings

    def fields(self, obj: Obj) -> dict[str, str]:
        metadata = obj["metadata"]
        found = {"metadata.name": metadata.get("name", "")}
        if self.namespaced:
            found["metadata.namespace"] = metadata.get("namespace", "")
        for path in self.selectable:
            value = _lookup(obj, path)
            found[path.removeprefix(".")] = "" if value is None else paths.go_print(value)[0]
        return found

    def field_labels(self) -> frozenset[str]:
        names = {"metadata.name", *(path.removeprefix(".") for path in self.selectable)}
        return frozenset(names | {"metadata.namespace"} if self.namespaced else names)

    def _type_errors(self, obj: Obj) -> list[FieldError]:
        errors = []
        for name, wanted in (("kind", self.kind), ("apiVersion", self.api_version)):
            if obj.get(name, "") != wanted:
                errors.append(field.invalid(Path(name), obj.get(name, ""), f"must be {wanted}"))
        return errors

    def _meta_errors(self, obj: Obj) -> list[FieldError]:
        return validate_object_meta(
            obj["metadata"], namespaced=self.namespaced, name_fn=name_is_dns_subdomain, known_finalizers=False
        )

    def _scale_errors(self, obj: Obj) -> list[FieldError]:
        if not self.scale:
            return []
        return scale.spec_errors(obj, self.scale) + scale.status_errors(obj, self.scale)

    def _new_list_errors(self, new: Obj, old: Obj) -> list[FieldError]:
        errors = self._list_errors(new)
        return errors if errors and not self._list_errors(old) else []

    def _list_errors(self, obj: Obj) -> list[FieldError]:
        return validate_lists(obj, self.node, Path()) if self.node.mentions("x-kubernetes-list-type") else []

    def _embedded_errors(self, obj: Obj) -> list[FieldError]:
        return embedded.validate_embedded(obj, self.node, Path()) if self.node.mentions(embedded.KEYWORD) else []

    def _rule_verdict(
        self, errors: list[FieldError], new: Obj, old: Obj | None, correlated: CorrelatedObject | None
    ) -> Reviewed:
        """The errors of the CEL rules, and as warnings those that are forgiven because their values did not change."""
        if self.rules is None:
            return [], []
        if any(error.reason in _BLOCKING for error in errors):
            return [field.invalid(Path(), None, _NOT_CHECKED)], []
        verdict = self.rules.validate(new, old, correlated)
        return verdict.errors, verdict.warnings


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomUpdate(UpdateStrategy):
    """The hooks for an update of a custom resource: one function finds errors and warnings together."""

    both: Callable[[Obj, Obj], Reviewed]

    def review(self, new: Obj, old: Obj) -> Reviewed:
        return self.both(new, old)


def _strategy(kind: CustomKind) -> Strategy:
    subresources: dict[str, UpdateStrategy] = {}
    reset: dict[str, tuple[tuple[str, ...], ...]] = {}
    update = CustomUpdate(prepare=kind.prepare_update, both=kind.review_update)
    if kind.has_status:
        subresources["status"] = CustomUpdate(prepare=kind.prepare_status, both=kind.review_status)
        reset = {"": (("status",),), "status": (("spec",),)}
    if kind.scale:
        subresources["scale"] = update
    return Strategy(
        default=kind.default,
        canonicalize=kind.default,
        prepare_create=kind.prepare_create,
        validate_create=kind.validate_create,
        warn_create=lambda obj: _finalizer_warnings(set(obj["metadata"].get("finalizers") or ())),
        update=update,
        subresources=subresources,
        unconditional_update=False,
        fields=kind.fields,
        field_labels=kind.field_labels(),
        unsupported_field=lambda label, _: f"field label not supported: {label}",
        reset_fields=reset,
    )


def deprecation_warning(spec: Obj, version: Obj) -> str:
    """What every request to a deprecated version is warned of; empty for other versions."""
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning") is not None:
        return str(version["deprecationWarning"])
    group, kind, name = spec["group"], spec["names"]["kind"], version["name"]
    better = [
        v["name"]
        for v in spec["versions"]
        if v.get("served") and not v.get("deprecated") and version_priority(v["name"]) > version_priority(name)
    ]
    text = f"{group}/{name} {kind} is deprecated"
    return f"{text}; use {group}/{max(better, key=version_priority)} {kind}" if better else text


def version_priority(name: str) -> tuple[Any, ...]:
    """Orders versions as Kubernetes prefers them: v10 over v2 over v1beta2 over v1alpha1 over any other name."""
    match = _VERSION.fullmatch(name)
    if match is None:
        return (0, 0, 0, 0, [-ord(char) for char in name])
    stage = {None: 3, "beta": 2, "alpha": 1}[match.group(2)]
    return (1, stage, int(match.group(1)), int(match.group(3) or 0), [])


def _content(obj: Obj) -> Obj:
    return {key: value for key, value in obj.items() if key != "metadata"}


def _lookup(obj: Any, path: str) -> Any:
    for name in paths.split(path):
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj


def _finalizer_warnings(names: set[str]) -> list[str]:
    warnings = []
    for name in sorted(names):
        where = f"metadata.finalizers: {field.go_quote(name)}: "
        warnings += [where + text for text in is_qualified_name(name)]
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            hint = " including a path (/)" if "." in name else ""
            warnings.append(
                f"{where}prefer a domain-qualified finalizer name{hint} to avoid accidental conflicts with other "
                "finalizer writers"
            )
    return warnings
