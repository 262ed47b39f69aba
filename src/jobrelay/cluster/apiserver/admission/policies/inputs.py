"""What expressions see of a request: the objects, the request itself, the namespace, the permissions of the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from jobrelay.apimachinery.access import Attributes
from jobrelay.apimachinery.cel.authorization import AccessCheck, Decision, authorizer, request_resource
from jobrelay.cluster.apiserver.admission.request import AdmissionRequest
from jobrelay.cluster.apiserver.resources import ServedResource
from jobrelay.kinds.admissionregistration.matching import GroupVersionResource, MatchAttributes
from jobrelay.kinds.strategy import Obj

_META: Final = "meta.k8s.io/v1"
_SHOWN: Final = (
    "name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "finalizers",
)  # fmt: skip
Kind = tuple[str, str, str]  # group, version, kind


class Inputs:
    """The values of the variables, made when an expression asks for them.

    `matched` and `kind` are the resource and kind as which the request matches a policy.
    """

    def __init__(
        self,
        admission: AdmissionRequest,
        attributes: MatchAttributes,
        matched: GroupVersionResource,
        kind: Kind,
        objects: tuple[Obj | None, Obj | None],
        namespace: Mapping[str, Any] | None,
        decide: Callable[[AccessCheck], Decision],
    ) -> None:
        self._admission, self._attributes, self._matched, self._kind = admission, attributes, matched, kind
        self._namespace, self._decide = namespace, decide
        self._made: dict[str, Any] = {"object": objects[0], "oldObject": objects[1]}

    def get(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = _MAKERS[name](self)
        return self._made[name]

    def _request(self) -> Obj:
        return admission_request(self._admission, self._attributes, self._matched, self._kind)

    def _namespace_object(self) -> Obj | None:
        if self._namespace is None:
            return None
        metadata = self._namespace["metadata"]
        return {
            "metadata": {name: metadata[name] for name in _SHOWN if name in metadata},
            **{name: self._namespace[name] for name in ("spec", "status") if name in self._namespace},
        }

    def _authorizer(self) -> Any:
        return authorizer(self._decide)

    def _request_resource(self) -> Any:
        group, _, resource = self._attributes.resource
        asked = self._attributes
        wanted = Attributes("", group, resource, asked.subresource, asked.namespace, asked.name)
        return request_resource(AccessCheck(self._decide, wanted))


_MAKERS: Final[dict[str, Callable[[Inputs], Any]]] = {
    "request": Inputs._request,
    "namespaceObject": Inputs._namespace_object,
    "authorizer": Inputs._authorizer,
    "authorizer.requestResource": Inputs._request_resource,
}


def admission_request(
    admission: AdmissionRequest, attributes: MatchAttributes, matched: GroupVersionResource, kind: Kind
) -> Obj:
    """The AdmissionRequest without its objects."""
    made = {
        "kind": _kind(kind),
        "resource": matched._asdict(),
        "subResource": attributes.subresource,
        "requestKind": _kind(kind_of(admission)),
        "requestResource": attributes.resource._asdict(),
        "requestSubResource": attributes.subresource,
        "name": attributes.name,
        "namespace": attributes.namespace,
        "operation": admission.operation,
        "userInfo": admission.request.user.info(),
        "dryRun": admission.dry_run,
        "options": operation_options(admission),
    }
    optional = ("subResource", "requestSubResource", "name", "namespace")
    return {name: value for name, value in made.items() if value or name not in optional}


def _kind(kind: Kind) -> dict[str, str]:
    return dict(zip(("group", "version", "kind"), kind, strict=True))


def kind_of(admission: AdmissionRequest) -> Kind:
    """The kind of what is sent."""
    return kind_in(admission.served, admission.subresource)


def kind_in(served: ServedResource, subresource: str) -> Kind:
    """The kind of a resource, or of its subresource."""
    sub = served.subresources.get(subresource)
    if sub is None:
        return served.group, served.version, served.kind
    return (sub.group, sub.version, sub.kind) if sub.version else (served.group, served.version, sub.kind)


def operation_options(admission: AdmissionRequest) -> Obj | None:
    """The options of a request as an object; a connection has none."""
    request = admission.request
    if admission.operation == "CONNECT":
        return None
    if admission.deletion is not None:
        return {"kind": "DeleteOptions", "apiVersion": _META, **admission.deletion.fields()}
    found: Obj = {"kind": f"{admission.operation.capitalize()}Options", "apiVersion": _META}
    if dry_run := request.query.get("dryRun"):
        found["dryRun"] = list(dry_run)
    for name in ("fieldManager", "fieldValidation"):
        if value := request.first(name):
            found[name] = value
    return found
