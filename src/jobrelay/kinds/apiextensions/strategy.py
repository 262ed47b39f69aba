"""The strategy of a custom resource: what a CustomResourceDefinition's version makes of create, update, status and scale.

`custom_kind` reads a version of a CRD once; the CEL rules are compiled when an object is first validated. Metadata, schema,
scale, embedded objects, list types and CEL are checked in the real server's order, and CEL only when nothing is wrong that
would make rules fail for the wrong reason.
"""

from __future__ import annotations

import copy
import functools
import re
from typing import TYPE_CHECKING, Any, Final

from jobrelay.apimachinery import field
from jobrelay.apimachinery.field import FieldError, Path
from jobrelay.apimachinery.meta import validate_object_meta, validate_object_meta_update
from jobrelay.apimachinery.names import is_qualified_name, name_is_dns_subdomain
from jobrelay.kinds.apiextensions import checks, embedded, objects, paths, pruning, scale
from jobrelay.kinds.apiextensions.listtypes import validate_lists
from jobrelay.kinds.apiextensions.ratchet import Correlated
from jobrelay.kinds.apiextensions.structural import Node
from jobrelay.kinds.generation import bump_generation, keep
from jobrelay.kinds.strategy import Obj, Strategy, Update

if TYPE_CHECKING:
    from jobrelay.kinds.apiextensions.rules import Rules

_BLOCKING: Final = frozenset(
    {"FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"}
)
_NOT_CHECKED: Final = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
_VERSION: Final = re.compile(r"v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?")
_STANDARD_FINALIZERS: Final = frozenset({"orphan", "foregroundDeletion", "kubernetes"})


class CustomKind:
    """One version of a CustomResourceDefinition, ready to serve."""

    def __init__(self, crd: Obj, version: str) -> None:
        spec = crd["spec"]
        found: Obj = next(v for v in spec["versions"] if v["name"] == version)
        subresources = found.get("subresources") or {}
        self.group: str = spec["group"]
        self.version = version
        self.api_version = f"{self.group}/{version}"
        self.kind: str = spec["names"]["kind"]
        self.namespaced: bool = spec["scope"] == "Namespaced"
        self.has_status: bool = subresources.get("status") is not None
        self.scale: Obj | None = subresources.get("scale")
        self.schema: Obj = (found.get("schema") or {}).get("openAPIV3Schema") or {}
        self.node = Node(self.schema)
        self.selectable: tuple[str, ...] = tuple(f["jsonPath"] for f in found.get("selectableFields") or ())
        self.deprecation = deprecation_warning(spec, found)

    @functools.cached_property
    def rules(self) -> Rules | None:
        """The compiled CEL rules, or None when the schema has none. Their machinery is loaded only where it is used."""
        from jobrelay.kinds.apiextensions.rules import compile_rules

        return compile_rules(self.node)

    def decode(self, value: Any) -> tuple[Obj, list[str]]:
        """A request's JSON as an object of this kind (pruned, not defaulted), and the paths of unknown fields."""
        return objects.decode_custom(value, self.node, group=self.group, kind=self.kind)

    def default(self, obj: Obj) -> None:
        pruning.default(obj, self.node)

    def prepare_create(self, obj: Obj) -> None:
        if self.has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def prepare_update(self, new: Obj, old: Obj) -> None:
        if self.has_status:
            keep(new, old, "status")
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
        return errors + self._rule_errors(errors, obj, None, None)

    def validate_update(self, new: Obj, old: Obj) -> list[FieldError]:
        errors = self._type_errors(new)
        correlated = Correlated(new, old, self.node)
        if not errors:
            errors += validate_object_meta_update(new["metadata"], old["metadata"], known_finalizers=False)
            errors += checks.validate(self.node, new, Path(), correlated)
            errors += self._scale_errors(new)
        errors += self._embedded_errors(new)
        errors += self._new_list_errors(new, old)
        return errors + self._rule_errors(errors, new, old, correlated)

    def validate_status(self, new: Obj, old: Obj) -> list[FieldError]:
        errors = self._type_errors(new)
        correlated = Correlated(new, old, self.node)
        if not errors:
            errors += validate_object_meta_update(new["metadata"], old["metadata"], known_finalizers=False)
            status_node = self.node.named("status")
            if "status" in new and status_node is not None:
                errors += checks.validate(status_node, new["status"], Path("status"), correlated.key("status"))
            errors += scale.status_errors(new, self.scale) if self.scale else []
        errors += self._new_list_errors(new, old)
        return errors + self._rule_errors(errors, new, old, correlated)

    def warn_update(self, new: Obj, old: Obj) -> list[str]:
        before = set(old["metadata"].get("finalizers") or ())
        return self._forgiven(new, old) + _finalizer_warnings(set(new["metadata"].get("finalizers") or ()) - before)

    def warn_status(self, new: Obj, old: Obj) -> list[str]:
        return self._forgiven(new, old)

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
        if self.scale is None:
            return []
        return scale.spec_errors(obj, self.scale) + scale.status_errors(obj, self.scale)

    def _new_list_errors(self, new: Obj, old: Obj) -> list[FieldError]:
        errors = self._list_errors(new)
        return errors if errors and not self._list_errors(old) else []

    def _list_errors(self, obj: Obj) -> list[FieldError]:
        return validate_lists(obj, self.node, Path()) if self.node.mentions("x-kubernetes-list-type") else []

    def _embedded_errors(self, obj: Obj) -> list[FieldError]:
        return embedded.validate_embedded(obj, self.node, Path()) if self.node.mentions(embedded.KEYWORD) else []

    def _rule_errors(
        self, errors: list[FieldError], new: Obj, old: Obj | None, correlated: Correlated | None
    ) -> list[FieldError]:
        if self.rules is None:
            return []
        if any(error.reason in _BLOCKING for error in errors):
            return [field.invalid(Path(), None, _NOT_CHECKED)]
        return self.rules.validate(new, old, correlated).errors

    def _forgiven(self, new: Obj, old: Obj) -> list[str]:
        if self.rules is None:
            return []
        return self.rules.validate(new, old, Correlated(new, old, self.node)).warnings


def custom_kind(crd: Obj, version: str) -> CustomKind:
    return CustomKind(crd, version)


def strategy_for(crd: Obj, version: str) -> Strategy:
    """The hooks for the custom resources of one version."""
    return custom_strategy(custom_kind(crd, version))


def custom_strategy(kind: CustomKind) -> Strategy:
    subresources: dict[str, Update] = {}
    reset: dict[str, tuple[tuple[str, ...], ...]] = {}
    update = Update(prepare=kind.prepare_update, validate=kind.validate_update, warn=kind.warn_update)
    if kind.has_status:
        subresources["status"] = Update(
            prepare=kind.prepare_status, validate=kind.validate_status, warn=kind.warn_status
        )
        reset = {"": (("status",),), "status": (("spec",),)}
    if kind.scale is not None:
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


def convert(obj: Obj, kind: CustomKind) -> Obj:
    """An object in another version, as conversion strategy None does it: renamed, and without what that version has not."""
    made = copy.deepcopy(obj)
    made["apiVersion"], made["kind"] = kind.api_version, kind.kind
    pruning.prune(made, kind.node)
    pruning.prune_nulls(made, kind.node)
    return made


def to_storage(obj: Obj, storage: CustomKind) -> Obj:
    """An object as it is stored."""
    return convert(obj, storage)


def from_storage(obj: Obj, storage: CustomKind, kind: CustomKind) -> Obj:
    """A stored object as a version shows it: defaults are those of the storage version, as the schema has them now."""
    made = convert(obj, storage)
    pruning.default(made, storage.node)
    return made if kind is storage else convert(made, kind)


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
                f"{where}prefer a domain-qualified finalizer name{hint} to avoid accidental conflicts with other finalizer writers"
            )
    return warnings
