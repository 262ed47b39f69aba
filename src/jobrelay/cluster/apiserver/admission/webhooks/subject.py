"""A write as webhooks see it: kinds, names, and the objects in the version that a webhook wants."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from jobrelay.apimachinery.decode import DecodeError, decode
from jobrelay.apimachinery.schema import GroupVersionKind
from jobrelay.apimachinery.types import type_for_kind
from jobrelay.cluster.apiserver import errors
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest
from jobrelay.cluster.apiserver.body import misfit
from jobrelay.cluster.apiserver.represent import converted
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.kinds.strategy import Obj

_META: Final = "meta.k8s.io/v1"
_OPTIONS: Final = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


def kind_of(served: ServedResource, subresource: str) -> GroupVersionKind:
    """The kind of what is written: that of the resource, or that of its subresource."""
    below = served.subresources.get(subresource)
    if below is None:
        return GroupVersionKind(served.group, served.version, served.kind)
    if not below.version:
        return GroupVersionKind(served.group, served.version, below.kind)
    return GroupVersionKind(below.group, below.version, below.kind)


class Subject(NamedTuple):
    """One write and its objects as they are at the moment."""

    admission: AdmissionRequest

    @property
    def name(self) -> str:
        metadata = self.admission.new.get("metadata") or {}
        return self.admission.name or metadata.get("name", "")

    @property
    def namespace(self) -> str:
        """The namespace; that of a namespace is itself."""
        return self.name if self.admission.served.key == "namespaces" else self.admission.namespace

    @property
    def new(self) -> Obj | None:
        return self._shown(self.admission.new)

    @property
    def old(self) -> Obj | None:
        return self._shown(self.admission.old)

    def _shown(self, obj: Obj) -> Obj | None:
        if not obj:
            return None
        return obj if self.admission.view is None else self.admission.view.show(obj)

    @property
    def options(self) -> Obj | None:
        """The options of the request, as far as they were given."""
        operation, query = self.admission.operation, self.admission.request.query
        if operation == "CONNECT":
            return None
        found: dict[str, Any] = {"kind": _OPTIONS[operation], "apiVersion": _META}
        if operation == "DELETE":
            return found | (self.admission.deletion.fields() if self.admission.deletion is not None else {})
        if self.admission.dry_run:
            found["dryRun"] = ["All"]
        return found | {name: query[name][0] for name in ("fieldManager", "fieldValidation") if query.get(name)}

    def in_version(self, obj: Obj | None, wanted: ServedResource) -> Obj | None:
        """An object of this write, converted to another version of its resource."""
        served = self.admission.served
        if (
            obj is None
            or wanted is served
            or kind_of(served, self.admission.subresource) == kind_of(wanted, self.admission.subresource)
        ):
            return obj
        return converted(obj, served, wanted)

    def from_version(self, obj: Obj, given: ServedResource) -> Obj:
        """The opposite of `in_version`."""
        return obj if given is self.admission.served else converted(obj, given, self.admission.served)

    def decode(self, value: Any, given: ServedResource) -> Obj:
        """The defaulted object of a JSON value, canonical unless it is a custom resource; raises DecodeError."""
        kind = kind_of(given, self.admission.subresource)
        _check_kind(value, kind)
        if kind == (given.group, given.version, given.kind):
            made = value if given.custom is not None else given.decode(value, None)
            given.strategy.default(made)
            return made
        type_ = type_for_kind(kind.api_version, kind.kind)
        assert type_ is not None, kind
        return {"kind": kind.kind, "apiVersion": kind.api_version, **decode(value, type_)}


def _check_kind(value: Any, wanted: GroupVersionKind) -> None:
    """Refuses an object that has become one of another kind; it is read as such first, which may fail too."""
    actual = (value.get("apiVersion", ""), value.get("kind", "")) if isinstance(value, dict) else ("", "")
    if actual == (wanted.api_version, wanted.kind):
        return
    why, other = misfit(actual, wanted.api_version, wanted.kind), type_for_kind(*actual)
    if other is None:
        raise DecodeError(why)
    decode(value, other)
    raise errors.unknown(why)
