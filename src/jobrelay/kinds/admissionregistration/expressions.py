"""The expressions of admission policies and match conditions: what they may refer to, and what they must evaluate to.

The object under admission is untyped at this point; the request and the namespace have the fields that Kubernetes
declares. Variables of a policy are fields of `variables`, typed by their expressions in the order they are declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from jobrelay.apimachinery.cel.authorization import AUTHORIZER, RESOURCE_CHECK
from jobrelay.apimachinery.cel.checker import Checked, CompileError, compile_expression
from jobrelay.apimachinery.cel.types import BOOL, DYN, INT, NULL, STRING, TIMESTAMP, CelType, list_of, map_of, read_type
from jobrelay.apimachinery.field import FieldError, Path, invalid

_STRINGS: Final = list_of(STRING)
_LABELS: Final = map_of(STRING, STRING)


def object_type(name: str, fields: Mapping[str, CelType]) -> CelType:
    return CelType("object", name, fields=lambda: fields, identity=name)


_GROUP_VERSION: Final = {"group": STRING, "version": STRING}
_KIND: Final = object_type("kubernetes.GroupVersionKind", {**_GROUP_VERSION, "kind": STRING})
_RESOURCE: Final = object_type("kubernetes.GroupVersionResource", {**_GROUP_VERSION, "resource": STRING})
_USER: Final = object_type(
    "kubernetes.UserInfo", {"username": STRING, "uid": STRING, "groups": _STRINGS, "extra": map_of(STRING, _STRINGS)}
)
_REQUEST: Final = object_type(
    "kubernetes.AdmissionRequest",
    {
        "kind": _KIND,
        "resource": _RESOURCE,
        "subResource": STRING,
        "requestKind": _KIND,
        "requestResource": _RESOURCE,
        "requestSubResource": STRING,
        "name": STRING,
        "namespace": STRING,
        "operation": STRING,
        "userInfo": _USER,
        "dryRun": BOOL,
        "options": DYN,
    },
)
_CONDITION: Final = object_type(
    "kubernetes.NamespaceCondition",
    {"status": STRING, "type": STRING, "lastTransitionTime": TIMESTAMP, "message": STRING, "reason": STRING},
)
_METADATA: Final = object_type(
    "kubernetes.NamespaceMetadata",
    {
        "name": STRING,
        "generateName": STRING,
        "namespace": STRING,
        "labels": _LABELS,
        "annotations": _LABELS,
        "UID": STRING,
        "creationTimestamp": TIMESTAMP,
        "deletionGracePeriodSeconds": INT,
        "deletionTimestamp": TIMESTAMP,
        "generation": INT,
        "resourceVersion": STRING,
        "finalizers": _STRINGS,
    },
)
_NAMESPACE: Final = object_type(
    "kubernetes.Namespace",
    {
        "metadata": _METADATA,
        "spec": object_type("kubernetes.NamespaceSpec", {"finalizers": _STRINGS}),
        "status": object_type("kubernetes.NamespaceStatus", {"conditions": list_of(_CONDITION), "phase": STRING}),
    },
)
_ALWAYS: Final = {"object": DYN, "oldObject": DYN, "namespaceObject": _NAMESPACE, "request": _REQUEST}
_AUTHORIZER: Final = {
    "authorizer": read_type(AUTHORIZER),
    "authorizer.requestResource": read_type(RESOURCE_CHECK),
}
_PLAIN: Final = frozenset({
    "bool", "bytes", "double", "duration", "int", "null", "string", "timestamp", "uint",
})  # fmt: skip
RESULTS: Final[dict[str, tuple[CelType, ...]]] = {"bool": (BOOL,), "string": (STRING,), "audit": (STRING, NULL)}


def type_text(type_: CelType) -> str:
    return "null_type" if type_.kind == "null" else str(type_)


def _declared(type_: CelType) -> CelType:
    """The type that a variable has for other expressions: plain types, and lists and maps of them; else `dyn`."""
    if type_.kind == "list":
        return list_of(_declared(type_.elem))
    if type_.kind == "map":
        return map_of(*map(_declared, type_.params))
    return type_ if type_.kind in _PLAIN else DYN


class ExpressionCompiler:
    """Compiles the CEL expressions of one object. `params`, `composed`: whether they may use `params`, `variables`.

    `objects` and `parameters` are the types of the object under admission and of `params`.
    """

    def __init__(
        self, *, params: bool = False, composed: bool = False, objects: CelType = DYN, parameters: CelType = DYN
    ) -> None:
        self._variables: dict[str, CelType] = {}
        self._base: dict[str, CelType] = {
            **_ALWAYS, "object": objects, "oldObject": objects, **({"params": parameters} if params else {}),
        }  # fmt: skip
        if composed:
            self._base["variables"] = object_type("kubernetes.variables", self._variables)

    def compile(self, source: str, *, authorizer: bool = True) -> Checked:
        """The checked expression; raises CompileError."""
        known = {**self._base, **(_AUTHORIZER if authorizer else {})}
        return compile_expression(source, known)

    def check(
        self, source: str, path: Path, result: str, *, shown: str | None = None, authorizer: bool = True
    ) -> list[FieldError]:
        """What is wrong with an expression that must evaluate to one of RESULTS."""
        value, wanted = source if shown is None else shown, RESULTS[result]
        try:
            found = self.compile(source, authorizer=authorizer).result
        except CompileError as error:
            return [invalid(path, value, f"compilation failed: {error}")]
        if any(found.kind == type_.kind for type_ in wanted):
            return []
        names = [type_text(type_) for type_ in wanted]
        must = names[0] if len(names) == 1 else f"one of [{' '.join(names)}]"
        return [invalid(path, value, f"must evaluate to {must} but got {type_text(found)}")]

    def declare(self, name: str, source: str) -> Checked:
        """Adds a variable; one that does not compile has the type `dyn`, and raises CompileError."""
        try:
            checked = self.compile(source)
        except CompileError:
            self._variables[name] = DYN
            raise
        self._variables[name] = _declared(checked.result)
        return checked
