"""Operations as the path items of OpenAPI version 2 and 3.

In both, a parameter that all operations of a path take stands at the path. Version 2 shares parameters between paths
too: they get names made of a hash, and are referred to.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from jobrelay.cluster.apiserver.openapi.definitions import V2, V3
from jobrelay.cluster.apiserver.openapi.operation import STRING, Operation
from jobrelay.cluster.apiserver.openapi.parameters import Parameter

Obj = dict[str, Any]
SECURITY: Final[Obj] = {
    "BearerToken": {
        "type": "apiKey",
        "description": "Bearer Token authentication",
        "name": "authorization",
        "in": "header",
    }
}
INFO: Final = {"title": "Kubernetes", "version": "1.35"}
CUSTOM_INFO: Final = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch")
_UNSHARED: Final = frozenset({"name", "fieldValidation", "dryRun"})


def by_path(operations: Iterable[Operation]) -> dict[str, list[Operation]]:
    found: dict[str, list[Operation]] = {}
    for operation in operations:
        found.setdefault(operation.path, []).append(operation)
    order = {method: index for index, method in enumerate(_METHODS)}
    return {path: sorted(found[path], key=lambda o: order[o.method]) for path in sorted(found)}


def _item(
    operations: list[Operation],
    render: Callable[[Operation, list[Parameter]], Obj],
    render_parameter: Callable[[Parameter], Obj],
) -> Obj:
    """The operations of a path, each with the parameters that not all of them take, and those that all take."""
    common = set(operations[0].parameters).intersection(*(o.parameters for o in operations))
    item: Obj = {o.method: render(o, _sorted(p for p in o.parameters if p not in common)) for o in operations}
    if common:
        item["parameters"] = [render_parameter(p) for p in _sorted(common)]
    return item


def _sorted(parameters: Iterable[Parameter]) -> list[Parameter]:
    return sorted(parameters, key=lambda p: (p.name, p.place))


def _schema(name: str, prefix: str) -> Obj:
    return {"type": "string"} if name == STRING else {"$ref": prefix + name}


def _extensions(operation: Operation) -> Obj:
    if operation.kind is None:
        return {}
    group, version, kind = operation.kind
    return {
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind},
    }


# Version 3.


def paths_v3(operations: Iterable[Operation]) -> Obj:
    return {path: _item(found, _operation_v3, _parameter_v3) for path, found in by_path(operations).items()}


def _parameter_v3(parameter: Parameter) -> Obj:
    made: Obj = {"name": parameter.name, "in": parameter.place, "description": parameter.text}
    if parameter.required:
        made["required"] = True
    return {**made, "schema": {"type": parameter.type, "uniqueItems": True}}


def _operation_v3(operation: Operation, parameters: list[Parameter]) -> Obj:
    made: Obj = {"tags": [operation.tag], "description": operation.description, "operationId": operation.id}
    if parameters:
        made["parameters"] = [_parameter_v3(p) for p in parameters]
    if operation.body:
        made["requestBody"] = {"content": _content(operation.consumes, operation.body)}
        if operation.body_required:
            made["requestBody"]["required"] = True
    made["responses"] = {
        code: {"description": text, **({"content": _content(operation.produces, operation.answer)} if full else {})}
        for code, text, full in operation.responses
    }
    return made | _extensions(operation)


def _content(media: Iterable[str], name: str) -> Obj:
    return {one: {"schema": _schema(name, V3)} for one in sorted(media)}


# Version 2.


class PathsV2:
    """Path items of version 2; collects the parameters that they share."""

    def __init__(self) -> None:
        self.shared: dict[str, Obj] = {}
        self._names: dict[bytes, str] = {}

    def paths(self, operations: Iterable[Operation]) -> Obj:
        made = {path: _item(found, self._operation, self._parameter) for path, found in by_path(operations).items()}
        self.shared = dict(sorted(self.shared.items()))
        return made

    def _operation(self, operation: Operation, parameters: list[Parameter]) -> Obj:
        made: Obj = {"description": operation.description}
        if operation.consumes:
            made["consumes"] = list(operation.consumes)
        made |= {
            "produces": list(operation.produces),
            "schemes": ["https"],
            "tags": [operation.tag],
            "operationId": operation.id,
        }
        listed = [self._body(operation)] if operation.body else []
        listed += [self._parameter(p) for p in parameters]
        if listed:
            made["parameters"] = listed
        made["responses"] = {
            code: {"description": text, **({"schema": _schema(operation.answer, V2)} if full else {})}
            for code, text, full in operation.responses
        }
        return made | _extensions(operation)

    def _body(self, operation: Operation) -> Obj:
        made: Obj = {"name": "body", "in": "body"}
        if operation.body_required:
            made["required"] = True
        made["schema"] = _schema(operation.body, V2)
        return self._share(made) if operation.body.startswith("io.k8s.apimachinery") else made

    def _parameter(self, parameter: Parameter) -> Obj:
        made: Obj = {"uniqueItems": True, "type": parameter.type, "description": parameter.text, "name": parameter.name}
        made["in"] = parameter.place
        if parameter.required:
            made["required"] = True
        return made if parameter.name in _UNSHARED else self._share(made)

    def _share(self, parameter: Obj) -> Obj:
        key = msgspec.json.encode(parameter)
        if key not in self._names:
            self._names[key] = f"{parameter['name']}-{_hash(key)}"
            self.shared[self._names[key]] = parameter
        return {"$ref": f"#/parameters/{self._names[key]}"}


def _hash(text: bytes) -> str:
    """Eight characters of the 64-bit FNV-1 hash."""
    value = 0xCBF29CE484222325
    for byte in text:
        value = (value * 0x100000001B3) % 2**64 ^ byte
    return base64.urlsafe_b64encode(value.to_bytes(8, "big")[:6]).decode()
