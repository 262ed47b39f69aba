"""What the tests of the OpenAPI documents share: a table of resources, a custom one, and a reader of protobuf."""

from __future__ import annotations

import struct
from typing import Any

from jobrelay.cluster.apiserver.custom import served_versions
from jobrelay.cluster.apiserver.openapi.documents import DocumentScope
from jobrelay.cluster.apiserver.resources import ResourceTable

Obj = dict[str, Any]


def gizmos(**spec: Any) -> Obj:
    """The definition of a custom resource."""
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 1, **spec}}}},
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    version["subresources"] = {"scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}}
    names = {"plural": "gizmos", "singular": "gizmo", "kind": "Gizmo", "listKind": "GizmoList"}
    return {
        "metadata": {"name": "gizmos.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }


def with_gizmos(resources: ResourceTable, **spec: Any) -> ResourceTable:
    for served in served_versions(gizmos(**spec)):
        resources.add(served)
    return resources


def part(resources: ResourceTable, group: str, version: str) -> DocumentScope:
    path = f"apis/{group}/{version}" if group else f"api/{version}"
    return DocumentScope(path, group, version, tuple(resources.in_version(group, version)))


def all_references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*map(all_references, value.values()))
    return set().union(*map(all_references, value)) if isinstance(value, list) else set()


def read_message(data: bytes) -> list[tuple[int, Any]]:
    """The fields of a protobuf message: numbers with integers, doubles or bytes."""
    found: list[tuple[int, Any]] = []
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == 1:
            found.append((key >> 3, struct.unpack("<d", data[at : at + 8])[0]))
            at += 8
            continue
        value, at = _varint(data, at)
        if key & 7 == 2:
            found.append((key >> 3, data[at : at + value]))
            at += value
        else:
            found.append((key >> 3, value))
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
